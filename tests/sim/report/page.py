#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of replay --html in a real browser: page.py LOCUS

It must load without an error and without asking the network, its charts must have pixels,
the table must sort, the theme must be the one asked for and change, and its numbers must be
those of --json; on a desktop and on a phone, light and dark. Exits with 77 where there is no
Chromium.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FIRST = """<script>
window.failures = [];
addEventListener("error", e => failures.push("error: " + e.message));
addEventListener("unhandledrejection", e => failures.push("rejection: " + e.reason));
for (const name of ["fetch", "XMLHttpRequest", "WebSocket"]) {
  window[name] = function () { failures.push("network: " + name); };
}
</script>"""

LAST = """<script>
{
function drawn(canvas) {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3]) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  }
  return seen.size;
}
function cells(figure) {
  return [...document.querySelectorAll(`#policies td[data-figure="${figure}"]`)].map(c => Number(c.dataset.value));
}
const verdict = {failures, colors: {}, table: {}, names: [], phases: [], width: innerWidth,
                 theme: document.documentElement.dataset.theme};
for (const c of document.querySelectorAll("canvas")) verdict.colors[c.id] = drawn(c);
for (const body of document.querySelectorAll("#phases tbody")) {
  const [title, ...rows] = body.rows;
  verdict.phases.push({title: title.textContent, rows: rows.map(row => [row.cells[0].textContent,
    Object.fromEntries([...row.cells].filter(c => c.dataset.value).map(c => [c.dataset.figure, Number(c.dataset.value)]))])});
}
for (const row of document.querySelectorAll("#policies tbody tr")) {
  verdict.names.push(row.cells[0].textContent);
  verdict.table[row.cells[0].textContent] = Object.fromEntries(
    [...row.cells].filter(c => c.dataset.value).map(c => [c.dataset.figure, Number(c.dataset.value)]));
}
const heads = [...document.querySelectorAll("#policies thead th")];
const moves = heads.find(h => h.textContent === "moves");
moves.querySelector("button").click();
verdict.falling = cells("moves");
verdict.sort_falling = moves.getAttribute("aria-sort");
moves.querySelector("button").click();
verdict.rising = cells("moves");
const before = getComputedStyle(document.body).backgroundColor;
document.getElementById("theme").click();
verdict.theme_changes = before !== getComputedStyle(document.body).backgroundColor;
document.getElementById("which").selectedIndex = 1;
document.getElementById("which").dispatchEvent(new Event("change"));
verdict.load_again = drawn(document.getElementById("load"));
verdict.overflow = document.documentElement.scrollWidth > document.documentElement.clientWidth;
parent.postMessage(JSON.stringify(verdict), "*");
}
</script>"""

# A window is at least 500 wide, a frame may be as narrow as a phone.
FRAMES = """<!DOCTYPE html><body><script>
const verdicts = [], widths = [1280, 390];
addEventListener("message", e => {
  verdicts.push(e.data);
  if (verdicts.length < widths.length) return;
  const out = document.createElement("pre");
  out.id = "verdicts";
  out.textContent = `[${verdicts}]`;
  document.body.appendChild(out);
});
for (const width of widths) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px";
  frame.style.height = "900px";
  frame.style.border = 0;
  frame.src = "page.html";
  document.body.appendChild(frame);
}
</script></body>"""


def browse(chromium, frames, theme, work):
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu",
               "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
               f"--user-data-dir={tempfile.mkdtemp(dir=work)}", "--window-size=1400,2000",
               f"--blink-settings=preferredColorScheme={0 if theme == 'dark' else 1}",
               "--virtual-time-budget=4000", "--dump-dom", "file://" + frames]
    dom = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         timeout=120, check=True).stdout.decode()
    found = re.search(r'<pre id="verdicts">(.*?)</pre>', dom, re.S)
    assert found, "the page's script did not come to its end"
    return json.loads(html.unescape(found.group(1)))


def check_phases(phases, report):
    expected = report["policies"][0]["phases"]
    assert len(phases) == len(expected) == 4, phases
    for i, phase in enumerate(expected):
        title = phases[i]["title"]
        assert title.startswith(phase["phase"]) and title.endswith(phase["events"]), title
        for policy, (name, figures) in zip(report["policies"], phases[i]["rows"], strict=True):
            assert policy["policy"] == name, name
            assert len(figures) > 5, figures
            for figure, value in figures.items():
                assert policy["phases"][i][figure] == value, (name, figure, value)


def check(verdict, report, theme):
    assert verdict["theme"] == theme, verdict["theme"]
    assert verdict["failures"] == [], verdict["failures"]
    for canvas, colors in verdict["colors"].items():
        assert colors > 4, f"chart {canvas} has only {colors} colors"
    assert verdict["load_again"] > 4, "the load chart of another policy is empty"
    assert verdict["names"] == [p["policy"] for p in report["policies"]], verdict["names"]
    for policy in report["policies"]:
        for figure, value in verdict["table"][policy["policy"]].items():
            assert policy[figure] == value, (policy["policy"], figure, value)
    for figure in ("connections", "moves", "imbalance_mean_ppm", "warm_ppm"):
        assert figure in verdict["table"]["wlc"], figure
    moves = sorted(p["moves"] for p in report["policies"])
    assert verdict["rising"] == moves, verdict["rising"]
    assert verdict["falling"] == moves[::-1], verdict["falling"]
    assert verdict["sort_falling"] == "descending"
    assert verdict["theme_changes"]
    assert not verdict["overflow"], f"the page is wider than {verdict['width']}"
    check_phases(verdict["phases"], report)


def main():
    locus = os.path.abspath(sys.argv[1])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("no Chromium here", file=sys.stderr)
        sys.exit(77)
    data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "commands", "replay", "data")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as work:
        page = os.path.join(work, "page.html")
        out = subprocess.run(
            [locus, "replay", "--pool", "pool.rules", "--scenario", "scenario.txt", "--json",
             "--html", page, "small.squid"], cwd=data, stdout=subprocess.PIPE, check=True)
        with open(page, encoding="utf-8") as file:
            text = file.read()
        if "Chart.js was not found when" in text:
            print("built without Chart.js", file=sys.stderr)
            sys.exit(77)
        assert not re.search(r'(src|href)\s*=\s*["\']', text.split("<script>")[0])
        text = text.replace("<head>", "<head>" + FIRST, 1)
        text = (LAST + "</body>").join(text.rsplit("</body>", 1))
        with open(page, "w", encoding="utf-8") as file:
            file.write(text)
        frames = os.path.join(work, "frames.html")
        with open(frames, "w", encoding="utf-8") as file:
            file.write(FRAMES)
        for theme in ("light", "dark"):
            verdicts = browse(chromium, frames, theme, work)
            assert sorted(v["width"] for v in verdicts) == [390, 1280], verdicts
            for verdict in verdicts:
                check(verdict, json.loads(out.stdout), theme)
    print("the page is fine")


main()
