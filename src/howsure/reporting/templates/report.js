"use strict";

// Tables: a button in each header sorts by its column, up and then down. Cells without a value stay at the end.
(() => {
  const keyOf = (row, place) => row.cells[place].dataset.key ?? row.cells[place].textContent;

  const compared = (isNumber, sign) => (a, b) => {
    if (a === "" || b === "") return (a === "") - (b === "");
    return sign * (isNumber ? a - b : a.localeCompare(b, "en", { numeric: true, sensitivity: "base" }));
  };

  const sort = (table, place) => {
    const heads = [...table.tHead.rows[0].cells];
    const order = heads[place].ariaSort === "ascending" ? "descending" : "ascending";
    const compare = compared(heads[place].classList.contains("number"), order === "ascending" ? 1 : -1);
    const rows = [...table.tBodies[0].rows].map((row) => [keyOf(row, place), row]);
    table.tBodies[0].append(...rows.sort(([a], [b]) => compare(a, b)).map(([, row]) => row));
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[place].ariaSort = order;
  };

  for (const table of document.querySelectorAll(".table table")) {
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      button.addEventListener("click", () => sort(table, place));
      head.append(button);
    });
  }
})();

// A table is a stop for the Tab key only where there is something to scroll.
(() => {
  const watcher = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const isCut = target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight;
      if (isCut) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
      target.classList.toggle("is-cut", target.scrollWidth > target.clientWidth);
    }
  });
  document.querySelectorAll(".table").forEach((box) => watcher.observe(box));
})();

// The contents mark the section that is being read.
(() => {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
      const link = links.get(target.getAttribute("aria-labelledby"));
      if (!link) continue;
      if (isIntersecting) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, { rootMargin: "-20% 0px -75% 0px" });
  document.querySelectorAll("main section").forEach((section) => watcher.observe(section));
})();

// A link to a part opens it.
(() => {
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let part = target && target.closest("details"); part; part = part.parentElement.closest("details")) part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  document.querySelectorAll("a[href^='#']").forEach((link) => link.addEventListener("click", () => link.hash === location.hash && open()));
  open();
})();

// On paper: the front page and the parts that are open, with their methods.
addEventListener("beforeprint", () => document.querySelectorAll(".part > details[open] details").forEach((details) => { details.open = true; }));
