"""Errors that are meant for the person in front of the screen.

QuothError                  the message is shown as it is, on one line, without a traceback; it says what to do
├── SettingsError           a setting has a bad value or an unknown name
├── CorpusError             a file, a record, a paper id, a question or an item file is not usable
├── StoreError              the library cannot be opened, written or searched
└── ModelError              an encoder or an LLM is missing, refuses or does not answer

Anything else that is raised is a bug and keeps its traceback.
"""


class QuothError(Exception):
    """Base of all errors a user can mend. Exit code 2."""


class SettingsError(QuothError):
    """A setting has a bad value or an unknown name."""


class CorpusError(QuothError):
    """A file, record, id, question or item file is not usable."""


class StoreError(QuothError):
    """The library cannot be opened, written or searched."""


class ModelError(QuothError):
    """An encoder or an LLM is missing, refuses or does not answer.

    ``transient`` tells whether the same request may succeed later (time-out, rate limit, server fault).
    """

    def __init__(self, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.transient = transient
