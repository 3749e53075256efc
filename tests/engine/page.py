#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of replay --html in a real browser: page.py LOCUS

It must load without an error and without asking the network, its charts must have pixels,
the table must sort, the theme must change, and its numbers must be those of --json. Exits
with 77 where there is no Chromium.
"""
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
  return [...document.querySelectorAll(`td[data-figure="${figure}"]`)].map(c => Number(c.dataset.value));
}
const verdict = {failures, colors: {}, table: {}, names: []};
for (const c of document.querySelectorAll("canvas")) verdict.colors[c.id] = drawn(c);
for (const row of document.querySelectorAll("tbody tr")) {
  verdict.names.push(row.cells[0].textContent);
  verdict.table[row.cells[0].textContent] = Object.fromEntries(
    [...row.cells].filter(c => c.dataset.value).map(c => [c.dataset.figure, Number(c.dataset.value)]));
}
const heads = [...document.querySelectorAll("thead th")];
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
const out = document.createElement("pre");
out.id = "verdict";
out.textContent = JSON.stringify(verdict);
document.body.appendChild(out);
}
</script>"""


def browse(chromium, page, size, work):
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu",
               "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
               f"--user-data-dir={tempfile.mkdtemp(dir=work)}", f"--window-size={size}",
               "--virtual-time-budget=4000", "--dump-dom", "file://" + page]
    dom = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         timeout=120, check=True).stdout.decode()
    found = re.search(r'<pre id="verdict">(.*?)</pre>', dom, re.S)
    assert found, "the page's script did not come to its end"
    text = found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(text)


def check(verdict, report):
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
    assert not verdict["overflow"], "the page is wider than the window"


def main():
    locus = os.path.abspath(sys.argv[1])
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        print("no Chromium here", file=sys.stderr)
        sys.exit(77)
    data = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli", "data")
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
        for size in ("1280,900", "420,900"):
            check(browse(chromium, page, size, work), json.loads(out.stdout))
    print("the page is fine")


main()
