// One page at a time, by the address's hash; all of them on paper. Values of a figure show under the pointer.
const pages = [...document.querySelectorAll("main > section[id]")];
const tip = document.getElementById("tip");

function show() {
  if (!pages.length) return;
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const page = target?.closest("main > section[id]") ?? pages[0];
  for (const each of pages) each.hidden = each !== page;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${page.id}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (target && target !== page) target.scrollIntoView();
  else if (location.hash) scrollTo(0, 0);
}

function unfold() {
  for (const each of pages) each.hidden = false;
  for (const each of document.querySelectorAll("details")) each.open = true;
}

function point(event) {
  const text = event.target.closest?.("[data-tip]")?.dataset.tip;
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  const left = Math.min(event.clientX + 12, innerWidth - tip.offsetWidth - 8);
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${Math.max(8, event.clientY - tip.offsetHeight - 12)}px`;
}

addEventListener("hashchange", show);
addEventListener("beforeprint", unfold);
addEventListener("afterprint", show);
document.addEventListener("pointerover", point);
document.addEventListener("pointerdown", point);
show();
