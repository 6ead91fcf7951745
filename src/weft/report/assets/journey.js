// One publication hop by hop, in all pictures of a .journey at once: messages appear with their hop, and the nodes that
// they come to. Plays once when it is first seen, unless the reader wants no motion; without a script all of it shows.
const PACE = 900; // milliseconds a hop

for (const journey of document.querySelectorAll(".journey")) {
  const pictures = [...journey.querySelectorAll("figure")];
  const hops = [...journey.querySelectorAll("[data-hop]")];
  const last = Math.max(0, ...hops.map((each) => Number(each.dataset.hop)));
  const slider = journey.querySelector("input");
  const button = journey.querySelector("button");
  let timer = 0;

  function tell(picture, hop) {
    const messages = [...picture.querySelectorAll("path[data-hop]")].filter((each) => each.dataset.hop <= hop);
    const reached = picture.querySelectorAll(".subscriber[data-hop]");
    const there = [...reached].filter((each) => each.dataset.hop <= hop).length;
    const relayed = messages.filter((each) => each.classList.contains("relayed")).length;
    picture.querySelector("output").textContent =
      `Hop ${hop}: ${there} of ${reached.length} subscribers reached, ${messages.length} messages, ${relayed} to relays`;
  }

  function show(hop) {
    slider.value = hop;
    for (const each of hops) {
      each.classList.toggle("later", Number(each.dataset.hop) > hop);
      each.classList.toggle("now", Number(each.dataset.hop) === hop);
    }
    for (const picture of pictures) tell(picture, hop);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    button.textContent = "Play";
  }

  function play() {
    if (Number(slider.value) >= last) show(0);
    button.textContent = "Pause";
    timer = setInterval(() => {
      if (Number(slider.value) >= last) stop();
      else show(Number(slider.value) + 1);
    }, PACE);
  }

  slider.max = last;
  journey.querySelector(".controls").hidden = false;
  button.addEventListener("click", () => (timer ? stop() : play()));
  slider.addEventListener("input", () => { stop(); show(Number(slider.value)); });
  addEventListener("beforeprint", () => { stop(); show(last); });
  show(last);
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) {
    const seen = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      seen.disconnect();
      play();
    }, { threshold: 0.4 });
    seen.observe(journey);
  }
}
