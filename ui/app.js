// Numbers in answers lead to their cards; the newest exchange stays in view. Runs once, when the page has loaded.
() => {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth";
  let cameFrom = null;

  const select = (key) => {
    const all = document.querySelectorAll("#sources section[data-exchange]");
    for (const section of all) section.hidden = section.dataset.exchange !== key;
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest("#sources .back")) return back();
    const cite = event.target.closest("#log a.cite");
    if (!cite) return;
    event.preventDefault();
    const card = document.getElementById(cite.hash.slice(1));
    if (!card) return;
    cameFrom = cite;
    select(card.closest("section").dataset.exchange);
    for (const lit of document.querySelectorAll(".lit")) lit.classList.remove("lit");
    card.classList.add("lit");
    cite.classList.add("lit");
    card.focus({ preventScroll: true });
    const quote = card.querySelector("mark") || card;
    const panel = document.getElementById("side");
    if (panel.scrollHeight > panel.clientHeight && getComputedStyle(panel).overflowY !== "visible") {
      const top = (node) => node.getBoundingClientRect().top - panel.getBoundingClientRect().top + panel.scrollTop;
      // The card's head where it fits above the quote, else the quote itself.
      const room = panel.clientHeight * 0.7;
      const to = top(quote) - top(card) < room ? top(card) - 12 : top(quote) - panel.clientHeight / 3;
      panel.scrollTo({ top: to, behavior: calm });
    } else {
      card.scrollIntoView({ block: "start", behavior: calm });
    }
  });

  // Escape in a card, or its button on a narrow page, goes back to the number that was followed.
  const back = () => {
    if (!cameFrom?.isConnected) return;
    cameFrom.focus({ preventScroll: true });
    cameFrom.scrollIntoView({ block: "center", behavior: calm });
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.closest(".card")) back();
  });

  // Status for screen readers: a draft is not read aloud word by word, its arrival is.
  const voice = Object.assign(document.createElement("p"), { className: "unseen" });
  voice.setAttribute("role", "status");
  document.body.append(voice);
  const log = document.getElementById("log");
  log.setAttribute("role", "region");
  log.setAttribute("aria-label", "Conversation");
  log.tabIndex = 0;

  if (matchMedia("(min-width: 861px)").matches) document.querySelector("#question textarea")?.focus();

  let seen = "";
  new MutationObserver(() => {
    const exchanges = log.querySelectorAll(".exchange");
    const last = exchanges[exchanges.length - 1];
    if (!last) return (seen = "");
    const state = last.dataset.exchange || (last.querySelector(".draft") ? "draft" : "waiting");
    if (state === seen && state !== "draft") return;
    voice.textContent = last.dataset.exchange ? "The answer is ready." : "Looking for an answer.";
    // A draft is followed while its end is in view; a reader who scrolled up is left alone.
    const gap = log.scrollHeight - log.scrollTop - log.clientHeight;
    if (state !== "draft") last.scrollIntoView({ block: "start" });
    else if (gap < 160) log.scrollTop = log.scrollHeight;
    seen = state;
  }).observe(log, { childList: true, subtree: true, characterData: true });
}
