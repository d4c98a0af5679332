"""quoth: answers about scientific papers, every sentence backed by a checked, verbatim quote."""

__version__ = "0.1.0"
