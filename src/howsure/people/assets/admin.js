// The researcher's view: asks the collector every few seconds how far everyone is.
const PAUSE = 3000;
const base = location.pathname.replace(/\/?$/, "/");

const cells = (head, rest) => make("tr", {}, make("th", { scope: "row" }, head), ...rest.map((text) => make("td", {}, String(text))));

// Signs have a line of their own below the rater, so that they are readable on a phone.
const raterRows = ({ label, state, done, of, minutes, signs }) => {
  const row = cells(label, [state, `${done} of ${of}`, minutes.toFixed(1)]);
  return signs.length ? [row, make("tr", { class: "more" }, make("td", { colspan: 4 }, signs.join("; ")))] : [row];
};

const draw = (told) => {
  const { title, finished, begun, invited, screened, away, withdrawn, quotas, decision } = told;
  const raters = told.raters.filter(({ state }) => !told.is_open || state !== "invited"); // free places are counted
  find("title").textContent = title;
  const more = [[screened, "screened out"], [away, "left and were replaced"], [withdrawn, "withdrawn"]].filter(([n]) => n).map(([n, what]) => `, ${n} ${what}`);
  find("counts").textContent = `${finished} finished, ${begun} begun, ${invited} ${told.is_over ? "places not needed" : told.is_open ? "places free" : "not yet begun"}${more.join("")}.`;
  const pace = told.median_minutes === null ? "" : ` A finished rater took ${told.median_minutes.toFixed(1)} minutes in the median; ${told.n_flagged} of ${raters.length} have something to look at.`;
  find("rates").textContent = `${told.last_hour} finished in the last hour.${pace}`;
  find("decision").hidden = !decision;
  find("decision").textContent = told.is_over ? `${decision} The study is over: nobody else is taken in.` : decision;
  find("quotas").hidden = !quotas;
  if (quotas) {
    find("quota-title").textContent = `Ratings per item: ${quotas.met} of ${quotas.of} items have ${quotas.wanted}`;
    find("items").replaceChildren(...quotas.rows.map(({ item, done, under_way }) => cells(item, [`${done} of ${quotas.wanted}`, under_way])));
  }
  find("people-line").hidden = !told.is_open;
  find("raters").replaceChildren(...raters.flatMap(raterRows));
};

const look = async () => {
  try {
    draw(await (await fetch(`${base}progress`)).json());
  } catch {
    find("counts").textContent = "The collector does not answer.";
  }
};

const again = async () => {
  await look();
  setTimeout(again, PAUSE);
};

// Removing cannot be undone, so the button asks once more.
const withdraw = async () => {
  const field = find("who");
  const name = field.value.trim();
  if (!name) return;
  if (find("withdraw").textContent === "Remove") return void (find("withdraw").textContent = `Press again to remove ${name}`);
  find("withdraw").textContent = "Remove";
  const options = { method: "POST", body: JSON.stringify({ rater: name }), headers: { "Content-Type": "application/json" } };
  const response = await fetch(`${base}withdraw`, options);
  const told = await response.json();
  find("withdrawn").textContent = response.ok ? `The answers of ${told.withdrawn} are removed.` : told.error;
  field.value = "";
  await look();
};

find("export").href = `${base}results.jsonl`;
find("people").href = `${base}people.csv`;
find("withdraw").addEventListener("click", withdraw);
find("who").addEventListener("input", () => (find("withdraw").textContent = "Remove"));
again();
