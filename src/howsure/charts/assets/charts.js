// Each figure opens with a still picture. When it comes near the window, a live chart of the same width takes its place.
"use strict";
(() => {
  const NARROW = 520;
  const LETTER = 6.5; // pixels of a letter
  const OPTIONS = {
    ast: true, // interpret expressions, so that the page needs no eval
    actions: false,
    defaultStyle: false,
    renderer: "svg",
    tooltip: { disableDefaultStyle: true },
  };

  // Pixels that a legend's column needs, as the charts reckon them too.
  const column = (names) => Math.max(...names.map((name) => name.length)) * LETTER + 46;

  // A domain holds places in a list of names, which is a parameter.
  const names = (spec, field, domain) => {
    const list = spec.params?.find(({ name }) => field === `${name.replace("names_of_", "")}_place`)?.value;
    return domain.map((place) => list?.[place] ?? String(place));
  };

  // Pixels between the axes: the names down the side, if there are any, take the others.
  const between = (spec, room) => {
    const fields = (spec.layer ?? [spec]).map(({ encoding }) => encoding?.y?.field);
    const down = spec.params?.find(({ name }) => fields.includes(`${name.replace("names_of_", "")}_place`))?.value;
    return room - (down ? Math.min(spec.config.axisY.labelLimit, Math.max(...down.map((name) => name.length)) * LETTER) + 20 : 60);
  };

  // A title in lines that are no longer than this many pixels.
  const wrapped = (title, room) =>
    title.split(" ").reduce((lines, word) => {
      const longer = `${lines.at(-1)} ${word}`;
      return lines.length && longer.length * LETTER <= room ? [...lines.slice(0, -1), longer] : [...lines, word];
    }, []);

  const narrowed = (spec, room) => {
    const inside = between(spec, room);
    spec.config.legend = { ...spec.config.legend, titleOrient: "top", gradientLength: 120 };
    for (const { encoding = {} } of spec.layer ?? [spec]) {
      if (encoding.x?.title) encoding.x.title = wrapped(encoding.x.title, inside);
      for (const { field, legend, scale } of Object.values(encoding)) {
        if (legend?.columns && scale?.domain) legend.columns = Math.max(1, Math.min(legend.columns, Math.floor(inside / column(names(spec, field, scale.domain)))));
      }
    }
  };

  const fitted = (figure, room) => {
    const spec = JSON.parse(figure.querySelector("script").textContent);
    if (!spec.layer && !spec.mark) return spec; // facets and rows of charts keep their widths
    spec.width = "container";
    spec.config = { ...spec.config };
    spec.config.axisY = { ...spec.config.axisY, labelLimit: Math.max(90, Math.round(room * (room < NARROW ? 0.42 : 0.34))) };
    if (room < NARROW) narrowed(spec, room);
    return spec;
  };

  const enliven = async (figure) => {
    const stage = figure.querySelector(".stage");
    const live = document.createElement("div");
    live.className = "is-waiting";
    stage.append(live);
    await vegaEmbed(live, fitted(figure, stage.clientWidth), OPTIONS);
    stage.replaceChildren(live);
    live.classList.remove("is-waiting");
    stage.classList.add("is-live");
    if (stage.scrollWidth > stage.clientWidth) stage.tabIndex = 0;
  };

  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      watcher.unobserve(target);
      enliven(target);
    }
  }, { rootMargin: "300px" });
  document.querySelectorAll("figure.chart").forEach((figure) => watcher.observe(figure));
})();
