"""Recomputes 500 answers of profile seed from the history alone and compares them with those of a server.

    waymark import sample && waymark serve --addr 127.0.0.1:7273 &
    python3 lab/seed/recompute.py sample http://127.0.0.1:7273

The folder is the data set that the server has, alone. Asked are 300 contexts, 100 contexts with a request and 100
requests alone of the episodes, all different; a search is the same in every profile, hence not asked.

Inputs, read from the server and not checked, are the match of a text with a request (step "semantic" of POST
/v1/explain), spectral clusters, which only capabilities use (GET /v1/graph), and the warning that nothing serves a
request alone, whose answer is then empty. Recomputed are transitions, alpha, Adamic-Adar, PageRank, communities,
outcomes, exclusions, all formulas and the order.

Ends with 1 where another id or formula has a place or a score differs by more than 1e-9 (the server stops PageRank at
1e-10). Needs one source without a key and at most 256 ids, so that the server leaves out none of them.
"""
import collections, datetime, http.client, json, math, pathlib, random, sys, urllib.parse

FOLDER, TOLERANCE, SHOWN = pathlib.Path(sys.argv[1]), 1e-9, 100
connection = http.client.HTTPConnection(urllib.parse.urlparse(sys.argv[2]).netloc, timeout=60)

def ask(path, body=None):
    connection.request("POST" if body else "GET", path, body and json.dumps(body), {"Content-Type": "application/json"})
    return json.load(r) if (r := connection.getresponse()).status == 200 else sys.exit(f"{path}: {r.read().decode()}")

def read(name):
    return [json.loads(line) for line in (FOLDER / name).open(encoding="utf-8")] if (FOLDER / name).exists() else []

capabilities = {c["id"]: c for c in read("capabilities.jsonl")}
episodes = [e for e in read("episodes.jsonl") if e.get("split", "train") == "train"]
ids = list(dict.fromkeys(  # in order of first appearance, in which Leiden takes them
    [t["id"] for t in read("tools.jsonl")] + [i for c in capabilities.values() for i in [c["id"], *c["tools"]]]
    + [s["tool"] for e in episodes for s in e["steps"]]))

def parents_of(steps):
    """For each step the positions of those right before it: those it lists, or the group of parallel steps before."""
    at, parents, layer, start = {s.get("id", str(i + 1)): i for i, s in enumerate(steps)}, [], [], 0
    for i, s in enumerate(steps):
        if i and not (s.get("group") and s["group"] == steps[i - 1].get("group")):
            layer, start = range(start, i), i
        parents.append(layer if s.get("depends_on") is None else [at[d] for d in s["depends_on"] if d in at])
    return parents

halves, count, uses = collections.defaultdict(collections.Counter), collections.Counter(), collections.Counter()
outcomes = collections.defaultdict(list)  # by tool and the tool before it: (time, failed)
for e in episodes:
    steps, parents = e["steps"], parents_of(e["steps"])
    tools, failed = [s["tool"] for s in steps], [s.get("outcome") == "failure" for s in steps]
    time = e.get("time") and datetime.datetime.fromisoformat(e["time"].replace("Z", "+00:00")).timestamp()
    for i, s in enumerate(steps):
        for p in parents[i]:
            if not failed[i] and not failed[p]:
                halves[tools[p]][tools[i]] += 1 if s.get("depends_on") is None else 2
                count[tools[p], tools[i]] += 1
        for before in {None, *(tools[p] for p in parents[i])} if s.get("outcome") in ("success", "failure") else ():
            outcomes[tools[i], before].append((time, failed[i]))
    uses.update(tools)
newest = max((t for seen in outcomes.values() for t, _ in seen if t), default=0)

class Rate:
    """Outcomes weighted by age, half-life 30 days before the newest one; what has no time does not age."""
    def __init__(self, seen):
        aged = [(2 ** ((t - newest) / 2592000) if t else 1, f) for t, f in seen]
        good, bad = sum(w for w, f in aged if not f), sum(w for w, f in aged if f)
        success, failure = (x / (good + bad or 1) for x in (good, bad))
        k, n, z = round(bad, 4), round(round(good, 4) + round(bad, 4), 4) or 1, 1.959963984540054
        wilson = (k / n + z * z / 2 / n - z * math.sqrt(k / n * (1 - k / n) / n + z * z / 4 / n / n)) / (1 + z * z / n)
        self.known, mostly = len(seen), 2 * sum(f for _, f in seen) > len(seen)
        self.excluded = self.known >= 5 and mostly and bad > good and round(wilson, 4) > .5
        self.adjustment = min(.15, .2 * success) - min(.15, .25 * failure)
        self.reliability = 1 if self.known < 5 else .1 if success < .5 else 1.2 if success > .9 else 1

rates = collections.defaultdict(lambda: Rate([]), {pair: Rate(seen) for pair, seen in outcomes.items()})

def rate_after(tool, last):
    return rates[tool, last if rates[tool, last].known >= 5 else None]

weight = {(a, b): h / (row.total() + 2) for a, row in halves.items() for b, h in row.items()}  # with loops
edges, near = [(a, b) for a, b in weight if a != b], collections.defaultdict(set)
for a, b in edges + [(b, a) for a, b in edges]:
    near[a].add(b)
active = [v for v in ids if near[v]]
ALPHA = max(.5, 1 - 2 * len(edges) / max(1, len(active) * (len(active) - 1)))

def adamic_adar(a, b):
    return sum(1 / math.log(len(near[w])) for w in near[a] & near[b]) if a != b else 0

def page_rank():
    total = {u: sum(weight.get((u, v), 0) for v in near[u]) for u in ids}
    into = {v: [(u, weight[u, v] / total[u]) for u in near[v] if (u, v) in weight] for v in ids}
    rank = dict.fromkeys(ids, 1 / len(ids))
    for _ in range(400):  # .85^400 is below 1e-28
        everywhere = (.15 + .85 * sum(rank[v] for v in ids if not total[v])) / len(ids)
        rank = {v: everywhere + .85 * sum(rank[u] * p for u, p in into[v]) for v in ids}
    return {v: r / max(rank.values()) if edges else 0 for v, r in rank.items()}

def weights_to(row, label):
    to = collections.defaultdict(float)
    for u, w in row.items():
        to[label[u]] += w
    return to

def move(rows, degree, label):
    """Each node goes to the neighbouring community that gains most; its neighbours elsewhere queue again."""
    total, queue, size = sum(degree), collections.deque(range(len(rows))), collections.Counter(label)
    inside = weights_to(dict(enumerate(degree)), label)
    while queue:
        v = queue.popleft()
        own, k, to = label[v], degree[v], weights_to(rows[v], label)
        inside[own] -= k
        best, most = own, to[own] - k * inside[own] / total + 1e-12 * k
        for c, w in to.items():
            if w - k * inside[c] / total > most:
                best, most = c, w - k * inside[c] / total
        if most < 0 and size[own] > 1:
            best = next(c for c in range(len(rows)) if not size[c])
        inside[best] += k
        if best != own:
            size[own], size[best], label[v] = size[own] - 1, size[best] + 1, best
            queue.extend(u for u in rows[v] if label[u] != best and u not in queue)
    return numbered(label)

def refine(rows, degree, label):
    """Parts of communities: a node that is alone joins the part that gains most, if both are well connected."""
    part, alone, sums, total = list(range(len(rows))), [True] * len(rows), list(degree), sum(degree)
    inside = weights_to(dict(enumerate(degree)), label)
    ties = [weights_to(row, label)[c] for row, c in zip(rows, label)]
    for v, c in enumerate(label):
        connected = lambda p: ties[p] >= sums[p] * (inside[c] - sums[p]) / total
        best, most, to = v, 0, weights_to({u: w for u, w in rows[v].items() if label[u] == c}, part)
        for p, w in to.items() if alone[v] and ties[v] and connected(v) else ():
            if w - degree[v] * sums[p] / total > most and connected(p):
                best, most = p, w - degree[v] * sums[p] / total
        if best != v:
            part[v], alone[v], alone[best] = best, False, False
            sums[best], ties[best] = sums[best] + degree[v], ties[best] + ties[v] - 2 * to[best]
    return numbered(part)

def numbered(labels):
    number = {}
    return [number.setdefault(c, len(number)) for c in labels]

def communities():
    """Leiden (Traag, Waltman, van Eck 2019), twice, on the summed weights of both directions, resolution 1."""
    both = lambda u, v: weight.get((u, v), 0) + weight.get((v, u), 0)
    base = [{j: both(u, v) for j, v in enumerate(active) if v in near[u]} for u in active]
    member = list(range(len(base)))
    for _ in range(2):
        rows, degree, at, label = base, [sum(row.values()) for row in base], range(len(base)), numbered(member)
        while True:
            label = move(rows, degree, label)
            part = refine(rows, degree, label)
            if len(rows) in (len(set(label)), len(set(part))):
                break
            above, sums = [collections.Counter() for _ in set(part)], weights_to(dict(enumerate(degree)), part)
            for v, p in enumerate(part):
                above[p].update(weights_to({u: w for u, w in rows[v].items() if part[u] != p}, part))
            rows, degree, at = above, [sums[p] for p in range(len(above))], [part[p] for p in at]
            label = numbered(c for _, c in sorted(set(zip(part, label))))
        member = [label[p] for p in at]
    return dict(zip(active, member))

RANK, COMMUNITY = page_rank(), communities()
CLUSTER, STATS = {n["id"]: n["cluster"] for n in ask("/v1/graph")["nodes"]}, ask("/v1/stats")

def tool_score(v, last):
    n, w, aa = count[last, v], weight.get((last, v), 0), adamic_adar(last, v)
    together = min(w + min(.05 * math.log2(n + 1), .2), .95) if n else 0
    same = v in COMMUNITY and COMMUNITY[v] == COMMUNITY.get(last) and (v != last or n)
    community = min(.4 + .2 * RANK[v] + min(.25 * w, .25) + min(.1 * aa, .1), .95) if same else 0
    score = .5 * together + .25 * community + .15 * min(aa / 2, 1) + .1 * RANK[v] + rate_after(v, last).adjustment
    return min(max(score, 0), .95) if together or community or aa else 0

def hybrid(v, context, text):
    near_to = lambda u: 1 if v in near[u] or u == v and (u, v) in weight else min(adamic_adar(u, v) / 2, 1)
    graph = max(map(near_to, list(dict.fromkeys(context[::-1]))[:12]), default=0)
    alpha, last = (ALPHA, context[-1]) if context else (1, None)
    score = .8 * (alpha * text[v] + (1 - alpha) * graph) + .2 * RANK[v] + rate_after(v, last).adjustment
    return min(max(score, 0), .95) if text[v] or graph else 0

def mixed(v, context, text):
    tools, done = set(capabilities[v]["tools"]), set(context)
    best = [] if context else sorted(set(ids) - set(capabilities), key=lambda u: (-text[u], u))[:1]
    situation = list(done) or [u for u in best if text[u]]  # without a context the best text stands for it
    share = sum(CLUSTER[u] == CLUSTER[v] for u in situation) / max(1, len(situation))
    inside = any(CLUSTER[u] == CLUSTER[v] for u in context[-1:] or situation)
    boost = 0 if CLUSTER[v] < 0 else .5 + .5 * share if inside else .25 * share
    relevance = text[v] if text else len(tools & done) / len(tools | done)
    x = relevance * (1 + boost) * rates[v, None].reliability
    return x / (1 + x)

def ranking(context, text):
    """All candidates in order: (-score, id, formula)."""
    found, last = {}, context[-1] if context else None
    for v in ids:
        scores = [(tool_score(v, last), "tool_score")] if last else []
        if v not in capabilities and text:
            scores.append((hybrid(v, context, text), "hybrid"))
        elif v in capabilities:
            scores.append((mixed(v, context, text), "mixed"))
        score, formula = max(scores, key=lambda s: s[0])
        exhausted = v in capabilities and set(capabilities[v]["tools"]) <= set(context)
        if score > 0 and not exhausted and not rate_after(v, last).excluded:
            found[v] = -score, v, formula
    return sorted(found.values())[:SHOWN]

def semantic(context, request):
    explained = lambda v: ask("/v1/explain", {"id": v, "context": context, "intent": request, "profile": "seed", "formula": True})
    return {v: next(s["value"] for s in explained(v)["formula_steps"] if s["name"] == "semantic") for v in ids}

source, recorded = next(iter(STATS["sources"].items()), ("", 0))
if not STATS["episodes"] == recorded == len(episodes) > 0 or "key:" in source or len(ids) > 256:
    sys.exit("the server must have this history alone, in one build, from one source without a key; at most 256 ids")
worded = [(tuple(s["tool"] for s in e["steps"]), e.get("intent", "")) for e in episodes]
prefixes = [(tools[:i + 1], request) for tools, request in worded for i in range(len(tools))]
kinds = ({(tools, "") for tools, _ in prefixes}, 300), (set(prefixes), 100), ({((), r) for _, r in prefixes if r}, 100)
questions = [q for all_of, n in kinds for q in random.Random(1).sample(sorted(all_of), min(n, len(all_of)))]
places, moved, largest = 0, 0, 0
for context, request in questions:
    got = ask("/v1/next", {"context": context, "intent": request, "profile": "seed", "limit": SHOWN})
    have, foreign = got["suggestions"], not context and {"foreign_request", "no_intent_match"} & set(got["warnings"])
    want = [] if foreign else ranking(context, semantic(context, request) if request else None)
    wrong = abs(len(want) - len(have)) + sum((a[1], a[2]) != (b["id"], b["formula"]) for a, b in zip(want, have))
    apart = max((abs(a[0] + b["score"]) for a, b in zip(want, have)), default=0)
    if wrong or apart > TOLERANCE:
        print(f"after {context}, request {request!r}: {wrong} places differ, a score by {apart:.1e}")
    places, moved, largest = places + len(have), moved + wrong, max(largest, apart)
print(f"{len(questions)} answers, {places} places: {moved} rank differences, scores within {largest:.1e}")
sys.exit(1 if moved or largest > TOLERANCE else 0)
