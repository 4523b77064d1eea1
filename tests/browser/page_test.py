#!/usr/bin/python3
"""The page of "simba serve" in a real browser. Usage: page_test.py SIMBA [TEST...]

Ends with 77 if the browser or the server of the store is not installed."""
import sys
import time
import unittest
import urllib.parse

import stage as stages
import webdriver

SIMBA = ""

HOSTILE = [
    "<script>document.title = 'taken over'</script>",
    "<img src=x onerror=\"document.title = 'taken over'\">",
    "\"><svg onload=alert(1)>",
    "javascript:alert(1)//%0a",
    "{{7*7}}${7*7}",
    "evil\u202etxt.exe",
    "null\u0007bell\u001b[31mred",
]

ROWS = "return [...document.querySelectorAll('#mutexes .grid-row:not([hidden])')]"
ROW = ROWS + ".find(row => row.querySelector('.name').textContent === arguments[0])"
OWNER = ROW + "?.children[1].querySelector('.first').textContent"


class Page(unittest.TestCase):
    def setUp(self):
        self.stage = stages.Stage(SIMBA)
        self.addCleanup(self.stage.close)
        self.store = self.stage.store
        self.browser = webdriver.Browser()
        self.addCleanup(self.browser.close)

    def open(self, server, view=""):
        self.browser.open(server.url + view)
        self.browser.wait("return document.getElementById('live').dataset.state === 'live'")

    def row(self, mutex, part):
        return self.browser.run(ROW + "?.querySelector(arguments[1])?.textContent ?? null", mutex, part)

    def no_complaints(self):
        self.assertEqual(self.browser.complaints(), [])

    # ---- what it shows ---------------------------------------------------------------------------

    def test_a_change_of_owner_appears_within_a_second(self):
        self.store.own("leader", "ann")
        server = self.stage.serve()
        self.open(server)
        self.browser.wait(OWNER + " === 'ann'", "leader")
        slowest = 0
        for owner in ("bob", "cid", "dan", "eve"):
            # What this takes without us, on a machine that is busy, is not the page's fault.
            begin = time.monotonic()
            self.store.own("leader", owner)
            self.browser.wait(OWNER + " === arguments[1]", "leader", owner, patience=5)
            slowest = max(slowest, time.monotonic() - begin)
        self.assertLess(slowest, 1.0)
        self.store.free("leader")
        self.browser.wait(OWNER + " === 'free'", "leader")
        self.no_complaints()

    def test_the_bar_of_a_lease_counts_down_and_a_renewal_fills_it(self):
        self.store.own("leader", "ann", lease=20)
        self.open(self.stage.serve())
        self.browser.wait(OWNER + " === 'ann'", "leader")
        width = ROW + ".querySelector('.left').getBoundingClientRect().width"
        first = self.browser.run(width, "leader")
        self.assertGreater(first, 10)
        self.browser.wait(width + " < arguments[1] * 0.9", "leader", first)
        self.store.own("leader", "ann", lease=20)
        self.browser.wait(width + " > arguments[1] * 0.95", "leader", first)
        self.store.own("short", "bob", lease=1.5)
        self.browser.wait(OWNER + " === 'bob'", "short")
        self.browser.wait(OWNER + " === 'free'", "short")
        self.no_complaints()

    def test_tells_who_waits_in_which_order(self):
        self.store.own("leader", "ann")
        self.store.queue("leader", [("bob", 90), ("cid", 5)])
        server = self.stage.serve()
        self.open(server)
        self.browser.wait(OWNER + " === 'ann'", "leader")
        self.assertIn("next: bob", self.browser.run(ROW + ".textContent", "leader"))
        self.open(server, "#/mutex/leader")
        self.browser.wait("return document.querySelectorAll('#mutex-waiting li').length === 2")
        items = self.browser.run("return [...document.querySelectorAll('#mutex-waiting li')].map(li => li.textContent)")
        self.assertTrue(items[0].startswith("bob") and items[1].startswith("cid"), items)
        self.no_complaints()

    def test_hostile_names_are_shown_as_text(self):
        emoji = "🦁" * 16500  # 66 KB
        for i, name in enumerate(HOSTILE):
            self.store.own(name, HOSTILE[-1 - i])
        self.store.own(emoji, "<b>" + emoji)
        server = self.stage.serve()
        self.open(server)
        wanted = len(HOSTILE) + 1
        self.browser.wait(ROWS + f".length === {wanted}")
        names = self.browser.run(ROWS + ".map(row => row.querySelector('.name').textContent)")
        for name in HOSTILE[:5]:
            self.assertIn(name, names)
        self.assertIn("evil\\u{202e}txt.exe", names)
        self.assertIn("null\\u{7}bell\\u{1b}[31mred", names)
        self.assertTrue(any(name.startswith("🦁🦁") and len(name) < 500 for name in names))
        self.assertEqual(self.browser.run("return document.title"), "Simba")
        self.assertEqual(self.browser.run("return document.querySelectorAll('main img, main svg, main b').length"), 0)
        for name in HOSTILE[:3]:
            self.open(server, "#/mutex/" + urllib.parse.quote(name, safe=""))
            self.browser.wait("return document.querySelector('#mutex-title').textContent === arguments[0]", name)
            self.browser.wait("return document.querySelector('#mutex-state').textContent === 'owned'")
            self.assertTrue(self.browser.run("return document.title").endswith(" – Simba"))
        self.no_complaints()

    def test_ten_thousand_mutexes_scroll_smoothly(self):
        pipe = self.store.redis.pipeline(transaction=False)
        for i in range(10000):
            self.store.own(f"order/{i:05}", f"worker-{i % 50}", lease=3600, pipe=pipe)
        pipe.execute()
        self.open(self.stage.serve())
        self.browser.wait("return document.getElementById('shown').textContent === '10,000 mutexes'", patience=60)
        self.assertLess(self.browser.run(ROWS + ".length"), 60)
        # Scrolls through all of them, a step per frame, and takes the time of each frame's own work.
        result = self.browser.send("/execute/async", {"script": """
            const done = arguments[0], view = document.querySelector('#mutexes .scroller');
            const all = view.scrollHeight - view.clientHeight, steps = 120, work = [];
            let step = 0;
            const next = () => {
              const begin = performance.now();
              view.scrollTop = all * ++step / steps;
              view.dispatchEvent(new Event('scroll'));
              requestAnimationFrame(() => {
                document.body.getBoundingClientRect();
                work.push(performance.now() - begin);
                if (step < steps) next(); else done({work, rows: [...document.querySelectorAll('#mutexes .grid-row:not([hidden]) .name')].map(n => n.textContent)});
              });
            };
            next();""", "args": []})
        self.assertIn("order/09999", result["rows"])
        work = sorted(result["work"])
        print(f"    frames while scrolling: median {work[len(work) // 2]:.1f} ms, worst {work[-1]:.1f} ms")
        self.assertLess(work[len(work) // 2], 50)
        begin = time.monotonic()
        self.browser.type("#search", "order/0777")
        self.browser.wait("return document.getElementById('shown').textContent === '10 of 10,000 mutexes'")
        self.assertLess(time.monotonic() - begin, 5)
        self.no_complaints()

    def test_sorts_searches_and_is_moved_through_by_keyboard(self):
        for i, name in enumerate(("alpha", "beta", "gamma", "delta")):
            self.store.own(name, f"owner-{9 - i}")
        self.open(self.stage.serve())
        names = ROWS + ".sort((a, b) => a.getAttribute('aria-rowindex') - b.getAttribute('aria-rowindex')).map(row => row.querySelector('.name').textContent).join(' ')"
        self.browser.wait(names + " === 'alpha beta delta gamma'")
        self.browser.click("#mutexes [role=columnheader]:nth-child(2) button")
        self.browser.wait(names + " === 'delta gamma beta alpha'")
        self.assertEqual(self.browser.run("return document.querySelector('#mutexes [role=columnheader]:nth-child(2)').getAttribute('aria-sort')"), "ascending")
        self.browser.press("/")
        self.browser.type("#search", "owner-8")
        self.browser.wait(names + " === 'beta'")
        self.browser.run("const box = document.getElementById('search'); box.value = ''; box.dispatchEvent(new Event('input'))")
        self.browser.wait(names + " === 'delta gamma beta alpha'")
        self.browser.run("document.querySelector('#mutexes .grid-row[tabindex=\"0\"]').focus()")
        self.browser.press("down")
        self.browser.press("down")
        self.assertEqual(self.browser.run("return document.activeElement.querySelector('.name').textContent"), "beta")
        self.browser.press("enter")
        self.browser.wait("return document.querySelector('#mutex-title').textContent === 'beta'")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "mutex-title")
        self.no_complaints()

    def test_the_timeline_and_the_page_of_a_mutex_tell_who_owned_it_when(self):
        server = self.stage.serve()
        for owner in ("ann", "bob"):
            self.store.own("leader", owner)
            stages.until(lambda: f'"owner":"{owner}"'.encode() in server.get("/api/mutexes")[1])
        self.open(server, "#/mutex/leader")
        self.browser.wait("return document.querySelector('#mutex-changes tbody').rows.length === 2")
        newest = self.browser.run("return [...document.querySelector('#mutex-changes tbody').rows[0].cells].map(c => c.textContent)")
        self.assertEqual(newest[1:4], ["handed over", "bob", "ann"])
        self.open(server, "#/timeline")
        self.browser.wait("return document.querySelector('#timeline canvas')?.pieces?.map(p => p.owner).join() === 'ann,bob'")
        self.no_complaints()

    # ---- what may go wrong -----------------------------------------------------------------------

    def test_a_restart_of_the_server_is_survived(self):
        self.store.own("leader", "ann")
        server = self.stage.serve()
        self.open(server)
        self.browser.wait(OWNER + " === 'ann'", "leader")
        self.browser.run("window.stillHere = true")
        server.kill()
        self.browser.wait("return document.getElementById('live').dataset.state === 'away'")
        self.store.own("leader", "bob")
        self.stage.serve(port=server.port)
        self.browser.wait(OWNER + " === 'bob'", "leader", patience=30)
        self.store.own("leader", "cid")
        self.browser.wait(OWNER + " === 'cid'", "leader")
        self.assertTrue(self.browser.run("return window.stillHere"), "it was loaded again")

    def test_says_so_while_the_store_is_away(self):
        self.store.own("leader", "ann")
        self.open(self.stage.serve())
        self.browser.wait(OWNER + " === 'ann'", "leader")
        self.store.process.kill()
        self.browser.wait("return document.getElementById('banner').textContent.startsWith('The store cannot be reached since')", patience=40)

    # ---- log in and release ----------------------------------------------------------------------

    def test_logs_in_and_releases_after_confirmation(self):
        self.store.own("leader", "ann")
        server = self.stage.serve(with_token=True)
        self.assertEqual(server.get("/api/mutexes")[0], 401)
        self.browser.open(server.url + "#/mutex/leader")
        self.browser.wait("return !document.getElementById('view-login').hidden")
        self.browser.type("#token", "not the token at all")
        self.browser.click("#login button")
        self.browser.wait("return document.getElementById('login-error').textContent === 'this is not the token'")
        self.browser.run("document.getElementById('token').value = ''")
        self.browser.type("#token", stages.TOKEN)
        self.browser.click("#login button")
        self.browser.wait("return document.getElementById('mutex-state').textContent === 'owned'")
        self.assertEqual(self.browser.run("return document.cookie"), "", "a script can read the cookie")
        self.browser.click("#release")
        self.browser.wait("return document.getElementById('confirm').open")
        self.assertTrue(self.browser.run("return document.getElementById('confirm-yes').disabled"))
        self.browser.click("#confirm-no")
        self.assertEqual(self.store.redis.get("simba:{leader}"), b"ann")
        self.browser.click("#release")
        self.browser.click("#confirm-check")
        self.browser.click("#confirm-yes")
        self.browser.wait("return document.getElementById('mutex-state').textContent === 'free'")
        self.assertIsNone(self.store.redis.get("simba:{leader}"))
        self.browser.wait("return document.getElementById('mutex-message').textContent.startsWith('Released by force')")
        self.browser.wait("return document.querySelector('#mutex-changes td:nth-child(2)')?.textContent === 'released by force'")

    def test_a_login_outlives_a_restart(self):
        self.store.own("leader", "ann")
        server = self.stage.serve(with_token=True)
        self.browser.open(server.url)
        self.browser.wait("return !document.getElementById('view-login').hidden")
        self.browser.type("#token", stages.TOKEN)
        self.browser.click("#login button")
        self.browser.wait(OWNER + " === 'ann'", "leader")
        server.kill()
        self.store.own("leader", "bob")
        self.stage.serve(with_token=True, port=server.port)
        self.browser.wait(OWNER + " === 'bob'", "leader", patience=30)

    def test_another_page_of_this_host_can_neither_read_nor_release(self):
        self.store.own("leader", "ann")
        server = self.stage.serve(with_token=True)
        other = self.stage.serve()  # another origin, but the same site: its pages send the cookie
        self.browser.open(server.url)
        self.browser.wait("return !document.getElementById('view-login').hidden")
        self.browser.type("#token", stages.TOKEN)
        self.browser.click("#login button")
        self.browser.wait(OWNER + " === 'ann'", "leader")
        self.browser.open(other.url + "icon.svg")
        tries = self.browser.send("/execute/async", {"script": """
            const [url, done] = arguments, results = [];
            const attempt = (path, options) => fetch(url + path, {credentials: 'include', ...options})
              .then(a => results.push(a.type + a.status), () => results.push('refused'));
            attempt('api/mutexes').then(() => attempt('api/mutexes/leader/release', {method: 'POST', mode: 'no-cors', body: '{"owner":"ann"}'}))
              .then(() => attempt('api/mutexes/leader/release', {method: 'POST', headers: {'Content-Type': 'application/json'}, body: '{"owner":"ann"}'}))
              .then(() => done(results));""", "args": [server.url]})
        self.assertEqual(tries[0], "refused")
        self.assertIn(tries[1], ("opaque0", "refused"))
        self.assertEqual(tries[2], "refused")
        self.assertEqual(self.store.redis.get("simba:{leader}"), b"ann")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    absent = webdriver.missing() + stages.missing()
    if absent:
        print("skipped: not installed: " + " ".join(absent))
        sys.exit(77)
    SIMBA = sys.argv.pop(1)
    unittest.main(verbosity=2)
