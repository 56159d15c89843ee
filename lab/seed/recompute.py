"""Recomputes answers of profile seed from the history and compares them with those of a server.

    waymark import sample && waymark serve --addr 127.0.0.1:7273 &
    python3 lab/seed/recompute.py sample http://127.0.0.1:7273

The folder is the data set that the server has imported, and nothing else: tools.jsonl, episodes.jsonl and, if there are
any, capabilities.jsonl. Asked are 300 contexts, 100 contexts with a request and 100 requests alone, drawn from the
episodes. A search has no profile: a request alone is how profile seed searches.

From the files come the transitions, density, alpha, Adamic-Adar, PageRank, communities, outcomes, exclusions, bypasses,
the probability of the end, all formulas, and the order. Read from the server, hence not checked here, are

  - how well the text of each id matches a request (step "semantic" of POST /v1/explain),
  - the spectral cluster of each id (GET /v1/graph), which counts for capabilities only,
  - that nothing serves a request without a context (warnings), for which the answer must then be empty.

It ends with 1 where an id stands in another place, a formula differs, or a score or end differs by more than 1e-9: the
server stops PageRank at 1e-10. It needs fewer than three sources and at most 256 ids, below which the server bounds nothing.
"""
import collections
import datetime
import http.client
import json
import math
import pathlib
import random
import sys
import urllib.parse

FOLDER, SERVER = pathlib.Path(sys.argv[1]), urllib.parse.urlparse(sys.argv[2])
SHOWN, TOLERANCE = 100, 1e-9
connection = http.client.HTTPConnection(SERVER.netloc, timeout=60)


def ask(path, body=None):
    connection.request("POST" if body else "GET", path, body and json.dumps(body), {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    if "status" in answer and "detail" in answer:
        sys.exit(f"{path}: {answer['detail']}")
    return answer


def read(name):
    path = FOLDER / name
    return [json.loads(line) for line in path.open(encoding="utf-8")] if path.exists() else []


# The history: what followed what, and how it went.
capabilities = {c["id"]: c for c in read("capabilities.jsonl")}
episodes = [e for e in read("episodes.jsonl") if e.get("split", "train") == "train"]
ids = list(dict.fromkeys(  # in order of first appearance, in which communities are looked for
    [t["id"] for t in read("tools.jsonl")] + [i for c in capabilities.values() for i in [c["id"], *c["tools"]]]
    + [s["tool"] for e in episodes for s in e["steps"]]))
halves = collections.defaultdict(lambda: collections.defaultdict(int))
count, steps, ends, bypassed = (collections.Counter() for _ in range(4))
outcomes = collections.defaultdict(list)  # by tool and the tool before it: (time, failed)
using = collections.defaultdict(list)
for c in capabilities.values():
    for t in set(c["tools"]) if len(c["tools"]) > 1 else ():
        using[t].append(c)


def parents_of(calls):
    """For each step the positions of those right before it; parallel steps form a layer."""
    at, parents, layer, start = {s.get("id"): i for i, s in enumerate(calls)}, [], [], 0
    for i, s in enumerate(calls):
        if i and not (s.get("group") and s["group"] == calls[i - 1].get("group")):
            layer, start = list(range(start, i)), i
        listed = s.get("depends_on")
        parents.append(layer if listed is None else [at[d] for d in listed if d in at])
    return parents


def done_by_hand(c, first, last):
    """Whether calls at these places are all that a capability does, in its order."""
    tool = {t["id"]: t["tool"] for t in c.get("tasks", ())}
    return all(t in first for t in c["tools"]) and all(
        first[tool[d]] < last[t["tool"]] for t in c.get("tasks", ()) for d in t.get("depends_on", ()))


for e in episodes:
    calls = e["steps"]
    parents, tools = parents_of(calls), [s["tool"] for s in calls]
    failed = [s.get("outcome") == "failure" for s in calls]
    time = e.get("time") and datetime.datetime.fromisoformat(e["time"].replace("Z", "+00:00")).timestamp()
    order = []
    while len(order) < len(calls):  # each step after those that it depends on, otherwise as recorded
        order.append(next(i for i in range(len(calls)) if i not in order and all(p in order for p in parents[i])))
    first, last = {}, {}
    for place, i in enumerate(order):
        steps[tools[i]] += 1
        if not failed[i]:
            first.setdefault(tools[i], place)
            last[tools[i]] = place
        for p in parents[i] if not failed[i] else ():
            if not failed[p]:
                halves[tools[p]][tools[i]] += 1 if calls[i].get("depends_on") is None else 2
                count[tools[p], tools[i]] += 1
        if calls[i].get("outcome") in ("success", "failure"):
            for before in {None, *(tools[p] for p in parents[i])}:
                outcomes[tools[i], before].append((time, failed[i]))
    if order:
        ends[tools[order[-1]]] += 1
    for c in {c["id"]: c for t in first for c in using[t]}.values():
        if c["id"] not in tools and done_by_hand(c, first, last):
            bypassed[c["id"]] += 1
newest = max((t for seen in outcomes.values() for t, _ in seen if t), default=0)


class Rate:
    """Outcomes weighted by age, half-life 30 days before the newest one; what has no time does not age."""

    def __init__(self, seen):
        weights = [(2 ** ((t - newest) / (30 * 86400)) if t else 1, bad) for t, bad in seen]
        self.n, self.failures = len(seen), sum(bad for _, bad in seen)
        good, bad = (math.fsum(w for w, failed in weights if failed == kind) for kind in (False, True))
        self.success, self.failure = (x / (good + bad) if good + bad > 0 else 0 for x in (good, bad))
        k, n, z = round(bad, 4), round(round(good, 4) + round(bad, 4), 4), 1.959963984540054
        wilson = n and (k / n + z * z / 2 / n - z * math.sqrt(k / n * (1 - k / n) / n + z * z / 4 / n / n)) / (1 + z * z / n)
        self.excluded = self.n >= 5 and bad > good and 2 * self.failures > self.n and round(wilson, 4) > .5
        self.adjustment = min(.15, .2 * self.success) - min(.15, .25 * self.failure)
        self.reliability = 1 if self.n < 5 else .1 if self.success < .5 else 1.2 if self.success > .9 else 1


rates = {pair: Rate(seen) for pair, seen in outcomes.items()}
NONE = Rate([])


def rate_after(tool, before):
    pair = rates.get((tool, before), NONE)
    return pair if before and pair.n >= 5 else rates.get((tool, None), NONE)


# The graph: loops count for the row that they are in, and for nothing else.
weight = {(a, b): h / (sum(row.values()) + 2) for a, row in halves.items() for b, h in row.items()}
edges = [(a, b) for a, b in weight if a != b]
near = collections.defaultdict(set)
for a, b in edges:
    near[a].add(b)
    near[b].add(a)
density = len(edges) / (len(near) * (len(near) - 1)) if len(near) > 1 else 0
ALPHA = max(.5, 1 - 2 * density)


def adamic_adar(a, b):
    return sum(1 / math.log(len(near[w])) for w in near[a] & near[b]) if a != b else 0


def page_rank():
    into, total = collections.defaultdict(list), collections.Counter()
    for a, b in edges:
        total[a] += weight[a, b]
    for a, b in edges:
        into[b].append((a, weight[a, b] / total[a]))
    rank = dict.fromkeys(ids, 1 / len(ids))
    for _ in range(400):  # .85^400 is below 1e-28
        dangling = sum(rank[v] for v in ids if not total[v])
        rank = {v: (.15 + .85 * dangling) / len(ids) + .85 * sum(rank[u] * p for u, p in into[v]) for v in ids}
    return {v: r / max(rank.values()) if edges else 0 for v, r in rank.items()}


def numbered(labels):
    number = {}
    return [number.setdefault(c, len(number)) for c in labels]


def move(rows, degree, total, label):
    """Every node goes to the neighbouring community that gains most; neighbours elsewhere are looked at again."""
    n = len(rows)
    inside, size = [0.] * n, collections.Counter(label)
    for v, c in enumerate(label):
        inside[c] += degree[v]
    queue = collections.deque(range(n))
    while queue:
        v = queue.popleft()
        own, gain = label[v], collections.defaultdict(float)
        inside[own] -= degree[v]
        for u, w in rows[v].items():
            gain[label[u]] += w
        best, most = own, gain[own] - degree[v] * inside[own] / total + 1e-12 * degree[v]
        for c, w in gain.items():
            if w - degree[v] * inside[c] / total > most:
                best, most = c, w - degree[v] * inside[c] / total
        if most < 0 and size[own] > 1:
            best = next(c for c in range(n) if not size[c])
        inside[best] += degree[v]
        if best != own:
            size[own], size[best], label[v] = size[own] - 1, size[best] + 1, best
            queue.extend(u for u in rows[v] if label[u] != best and u not in queue)


def refine(rows, degree, total, label):
    """Splits each community into parts: nodes that are alone join the part that gains most, both well connected."""
    part, alone, size = list(range(len(rows))), [True] * len(rows), collections.Counter()
    for v, c in enumerate(label):
        size[c] += degree[v]
    k, ties = list(degree), [sum(w for u, w in row.items() if label[u] == c) for row, c in zip(rows, label)]

    def connected(p, c):
        return ties[p] >= k[p] * (size[c] - k[p]) / total
    for v, c in enumerate(label):
        if not alone[v] or not ties[v] or not connected(v, c):
            continue
        to = collections.defaultdict(float)
        for u, w in rows[v].items():
            if label[u] == c:
                to[part[u]] += w
        best, most = v, 0
        for p, w in to.items():
            if w - degree[v] * k[p] / total > most and connected(p, c):
                best, most = p, w - degree[v] * k[p] / total
        if best != v:
            part[v], alone[v], alone[best] = best, False, False
            k[best], ties[best] = k[best] + degree[v], ties[best] + ties[v] - 2 * to[best]
    return numbered(part)


def communities():
    """Leiden (Traag, Waltman, van Eck 2019), twice, on the summed weights of both directions, resolution 1."""
    nodes = [v for v in ids if near[v]]
    both = [{j: weight.get((u, v), 0) + weight.get((v, u), 0) for j, v in enumerate(nodes) if v in near[u]} for u in nodes]
    member, total = list(range(len(nodes))), sum(sum(row.values()) for row in both)
    for _ in range(2):
        rows, degree, at, label = both, [sum(row.values()) for row in both], list(range(len(nodes))), numbered(member)
        while True:
            move(rows, degree, total, label)
            label = numbered(label)
            part = refine(rows, degree, total, label)
            if len(set(label)) == len(rows) or len(set(part)) == len(rows):
                break
            above = [collections.defaultdict(float) for _ in set(part)]
            sums, upper = [0.] * len(above), [0] * len(above)
            for v, p in enumerate(part):
                sums[p], upper[p] = sums[p] + degree[v], label[v]
                for u, w in rows[v].items():
                    if part[u] != p:
                        above[p][part[u]] += w
            rows, degree, label, at = above, sums, numbered(upper), [part[p] for p in at]
        member = [label[p] for p in at]
    return dict(zip(nodes, member))


RANK, COMMUNITY = page_rank(), communities()
CLUSTER = {node["id"]: node["cluster"] for node in ask("/v1/graph")["nodes"]}


def follow(tools, parts):
    """How many tools of a capability are among the chosen or follow these half of the times they were called."""
    expected = list(tools)
    for u in expected:
        expected += [t for t in parts if t not in expected and u != t and count[u, t] and 2 * count[u, t] >= steps[u]]
    return len(expected)


class Situation:
    def __init__(self, context, text):
        self.context, self.text, self.last = set(context), text, context[-1] if context else None
        best = max((i for i in ids if text and i not in capabilities), key=lambda i: (text[i], [-ord(x) for x in i]), default=None)
        self.stand_in = CLUSTER[best] if best and text[best] else -1

    def tool_score(self, v):
        n, last, aa = count[self.last, v], self.last, adamic_adar(self.last, v)
        w = weight.get((last, v), 0)
        together = min(w + min(.05 * math.log2(n + 1), .2), .95) if n else 0
        same = v in COMMUNITY and COMMUNITY[v] == COMMUNITY.get(last) and (v != last or n)
        community = min(.4 + .2 * RANK[v] + .25 * min(w, 1) + .1 * min(aa, 1), .95) if same else 0
        if together or community or aa:
            return .5 * together + .25 * community + .15 * min(aa / 2, 1) + .1 * RANK[v] + rate_after(v, last).adjustment
        return 0

    def hybrid(self, v):
        graph = max((1 if v in near[u] or u == v and (u, u) in weight else min(adamic_adar(u, v) / 2, 1) for u in self.context), default=0)
        alpha = ALPHA if self.context else 1
        if self.text[v] or graph:
            return .8 * (alpha * self.text[v] + (1 - alpha) * graph) + .2 * RANK[v] + rate_after(v, self.last).adjustment
        return 0

    def mixed(self, v):
        tools = set(capabilities[v]["tools"])
        relevance = self.text[v] if self.text else len(tools & self.context) / len(tools | self.context)
        share, inside = sum(CLUSTER[u] == CLUSTER[v] for u in self.context) / max(1, len(self.context)), CLUSTER.get(self.last) == CLUSTER[v]
        if not self.context:
            share, inside = (1, True) if self.stand_in == CLUSTER[v] else (0, False)
        boost = 0 if CLUSTER[v] < 0 else .5 + .5 * share if inside else .25 * share
        x = relevance * (1 + boost) * rates.get((v, None), NONE).reliability
        return x / (1 + x)

    def score(self, v):
        """The best of the formulas that apply: (score, tools it covers, formula)."""
        formulas = [("tool_score", self.tool_score)] if self.last else []
        if v in capabilities:
            if set(capabilities[v]["tools"]) <= self.context:
                return 0, 0, ""
            formulas.append(("mixed", self.mixed))
        elif self.text:
            formulas.append(("hybrid", self.hybrid))
        scores = [(min(max(f(v), 0), .95 if name != "mixed" else 1), 0, name) for name, f in formulas]
        return max(scores, key=lambda s: s[0])

    def ranking(self):
        """All candidates in order, (id, score, formula). A capability may stand for the tools that it covers."""
        scores = {v: s for v in ids if (s := self.score(v))[0] > 0 and not rate_after(v, self.last).excluded}
        def place(v): return -scores[v][0], -scores[v][1], v
        first = sorted((v for v in scores if v not in capabilities), key=place)[:10]
        covers = {}
        for v, c in capabilities.items():
            seen = [t for t in (first[:1] if self.last else first) if t in c["tools"]]
            bar = max([.5] + [.8 * self.text[t] for t in seen]) if self.text else 0
            begins = [t["tool"] for t in c.get("tasks", ()) if not t.get("depends_on")] or c["tools"][:1]
            if not seen or len(set(c["tools"])) < 2 or self.context & {v, *c["tools"]} or self.text and self.text[v] < bar:
                continue
            if rate_after(v, self.last).excluded or rates.get((v, None), NONE).reliability < 1:
                continue
            if self.last and (first[0] not in begins or bypassed[v] >= 5 and bypassed[v] > steps[v]):
                continue
            n, size = follow(seen, c["tools"]), len(set(c["tools"]))
            if n >= 2 and n >= (1 if self.last else 2 / 3) * size:
                covers[v] = max(scores.get(v, (0, 0, "")), (scores[seen[0]][0], 0, "covers"), key=lambda s: s[0]), len(seen)
                if v in scores and scores[v][0] > scores[seen[0]][0]:
                    covers[v] = scores[v], len(seen)
        for v, (s, n) in covers.items():
            scores[v] = s[0], n, s[2]
        return [(v, scores[v][0], scores[v][2]) for v in sorted(scores, key=place)][:SHOWN]

    def end(self):
        total = sum(steps.values())
        return min(.95, (ends[self.last] + len(episodes) / total) / (steps[self.last] + 1)) if self.last else 0


texts = {}


def text_of(request):
    """How well each id's text matches a request, as the server says."""
    if request not in texts:
        texts[request] = {}
        for v in ids:
            steps_of = ask("/v1/explain", {"id": v, "intent": request, "profile": "seed", "formula": True})["formula_steps"]
            texts[request][v] = next(s["value"] for s in steps_of if s["name"] == "semantic")
    return texts[request]


def questions():
    draw = random.Random(1)
    worded = [e for e in episodes if e.get("intent") and e["steps"]]
    for n, kind in [(300, "context"), (100, "context and request"), (100, "request")]:
        for e in draw.sample(worded, n):
            context = [s["tool"] for s in e["steps"][:draw.randint(1, len(e["steps"]))]]
            yield kind, context if "context" in kind else [], e["intent"] if "request" in kind else ""


def main():
    stats = ask("/v1/stats")
    if len(stats["sources"]) > 2 or len(ids) > 256 or stats["episodes"] != len(episodes) or stats["episodes_since_build"]:
        sys.exit("the server needs this history and no other, in one build, with at most two sources and 256 ids")
    answers, moved, places, largest, formulas = collections.Counter(), 0, 0, 0., collections.Counter()
    for kind, context, request in questions():
        body = {"context": context, "intent": request, "profile": "seed", "limit": SHOWN}
        got = ask("/v1/next", {k: x for k, x in body.items() if x})
        here = Situation(context, text_of(request) if request else None)
        want = here.ranking()
        if not context and {"foreign_request", "no_intent_match"} & set(got["warnings"]):
            want = []
        have = [(s["id"], s["score"], s["formula"]) for s in got["suggestions"]]
        wrong = abs(len(want) - len(have)) + sum(a[0] != b[0] or a[2] != b[2] for a, b in zip(want, have))
        difference = max([abs(a[1] - b[1]) for a, b in zip(want, have)] + [abs(here.end() - got["stop"])])
        if (wrong or difference > TOLERANCE) and moved < 10:
            print(f"{kind} {context} {request!r}: {[(a, b) for a, b in zip(want, have) if a[0] != b[0] or abs(a[1] - b[1]) > TOLERANCE][:3]}"
                  f" of {len(want)} and {len(have)}, end {here.end()} and {got['stop']}")
        answers[kind] += 1
        formulas.update(f for _, _, f in have)
        moved, places, largest = moved + wrong, places + len(have), max(largest, difference)
    print(f"{answers.total()} answers ({', '.join(f'{n} by {k}' for k, n in answers.items())}), {places} places: "
          f"{moved} rank differences, largest difference of a score {largest:.1e}")
    print("formulas:", ", ".join(f"{n} {f}" for f, n in formulas.most_common()))
    sys.exit(1 if moved or largest > TOLERANCE else 0)


if __name__ == "__main__":
    main()
