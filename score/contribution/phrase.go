package contribution

import (
	"regexp"
	"strings"
)

// phrases is a set of ways to say one thing.
type phrases struct{ re *regexp.Regexp }

// anyOf matches one of the patterns as whole words, in any case.
func anyOf(patterns ...string) phrases {
	return phrases{regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)}
}

var (
	negator  = regexp.MustCompile(`(?i)\b(?:no|not|never|without|lacks?|lacking|missing|neither|nor|cannot|wrong|misleading|instead of|rather than|avoid(?:s|ing)?)\b|n't\b`)
	clauses  = regexp.MustCompile(`[.;:!?,\n()“”"]`)
	reaching = 40 // how far before a phrase its negation may stand, in bytes
)

// in finds what the words say and do not deny: "no positive control" has none. Denied tells that the
// phrase is there, but only with a negation before it in the same clause.
func (p phrases) in(words string) (said string, denied bool) {
	words = strings.ReplaceAll(words, "’", "'")
	for _, m := range p.re.FindAllStringIndex(words, -1) {
		if negator.MatchString(sameClause(words, m[0])) {
			denied = true
			continue
		}
		return words[m[0]:m[1]], denied
	}
	return "", denied
}

// sameClause is what stands before a place, near and in the same clause.
func sameClause(words string, at int) string {
	before := words[max(0, at-reaching):at]
	if ends := clauses.FindAllStringIndex(before, -1); len(ends) > 0 {
		before = before[ends[len(ends)-1][1]:]
	}
	return before
}

// say reports whether the words say it.
func (p phrases) say(words string) bool {
	said, _ := p.in(words)
	return said != ""
}

var (
	thirdAlternativeWords = regexp.MustCompile(`(?i)\bthird[\s-]+alternative\b`)

	// Rationale.
	whyWords = anyOf(`because`, `since`, `so that`, `therefore`, `thus`, `hence`, `in order to`, `due to`, `by \w+ing`,
		`creates?`, `allows?`, `lets`, `shows?`, `means that`, `reveals?`, `predicts?`, `requires?`, `implies`, `would`,
		`contradicts?`, `explains?`, `targets?`, `maximi[sz]es?`, `separates?`, `exposes?`)
	apartWords = anyOf(`alternatives?`, `distinguish\w*`, `discriminat\w*`, `rules? out`, `ruling out`, `exclud\w+`, `exclusion`, `versus`, `vs`,
		`separates?`, `kills?`, `killing`, `falsif\w+`, `refut\w+`, `dichotomy`, `competing`, `either`)
	itemID = regexp.MustCompile(`\b[HTPAXC][1-9][0-9]*\b`)

	// Levels.
	wishing     = regexp.MustCompile(`(?i)\b(?:genes?|genomes?|dna|rna|cells?|organisms?|proteins?|enzymes?|neurons?|embryos?|tissues?|molecules?|viruse?s?|bacteri(?:um|a)|evolution|nature|brains?|plants?|animals?|species|programs?)\s+(?:(?:simply|actively|then|itself|themselves|just)\s+)?(tells?|told|decides?|decided|wants?|wanted|knows?|knew|chooses?|chose|tr(?:y|ies|ied) to|intends?|instructs?|believes?|likes?|prefers?|thinks?|orders?|commands?|asks?|refuses?)\b`)
	quotedHere  = regexp.MustCompile(`["“](?:the |an? )?$`)
	creature    = regexp.MustCompile(`(?i)^(?:animals?|species|brains?|plants?)\b`) // these may well choose and prefer
	cannot      = regexp.MustCompile(`(?i)\b(?:can't|cannot|can not|unable to)\b`)
	willNot     = regexp.MustCompile(`(?i)\b(?:won't|will not|refuses? to)\b`)
	levelWords  = anyOf(`levels?`, `layers?`, `specif(?:y|ies|ication)`, `program`, `interpreter`, `instructions?`, `encod\w+`, `decod\w+`, `execut\w+`, `machine`, `message`, `hardware`, `software`, `description`, `proximate`, `ultimate`, `chastity`, `impotence`)
	sentenceEnd = regexp.MustCompile(`[.!?\n]`)

	// Third alternatives.
	placeholder = anyOf(`both (?:could|may|might|can|are|be)(?: be)? (?:\w+ )?wrong`, `both wrong`, `neither (?:is|of them|one)(?: \w+)? (?:right|correct)`, `something else`, `some other (?:mechanism|explanation|cause)`, `another (?:mechanism|explanation) (?:could|may|might)`, `question is misspecified`, `we (?:do not|don't) know`, `unknown mechanism`)
	blend       = anyOf(`hybrids?`, `both mechanisms`, `combin(?:es|ation|ing|ed)`, `mix(?:ture|ed)?`, `blends?`, `special case`, `context[- ]dependent`)
	mechanisms  = anyOf(`mechanisms?`, `through`, `via`, `by \w+ing`, `because`, `causes?`, `drives?`, `encodes?`, `gates?`, `depends on`)
	testable    = anyOf(`predicts?`, `predictions?`, `would (?:show|see|observe|find|expect|reveal|appear|be seen)`, `if (?:true|so|this is|it is)`, `measur\w+`, `observ\w+`, `assays?`, `experiments?`, `tests?`, `compared? with`, `expect(?:s|ed)?`)

	// Paradox.
	paradoxWords = anyOf(`paradox\w*`, `contradictions?`, `contradictory`, `puzzles?`, `puzzling`, `incompatible`, `inconsisten\w+`, `cannot both be`, `irreconcilable`, `counterintuitive`, `counter-intuitive`)
	missingRule  = anyOf(`missing (?:rule|step|link|piece|production rule)`, `production rule`, `(?:resolv|explain|dissolv)\w* (?:the|this|that|both)`, `implies`, `so there must be`, `therefore`, `must exist`)

	// Potency.
	positiveControl = anyOf(`positive controls?`, `known (?:positives?|responders?|inducers?|active|stable|effects?)`, `spike[- ]?ins?`, `reference (?:strain|standard|sample|compound)s?`, `late-transplant control`, `control (?:that|which) (?:would|must|should) (?:show|respond|change|detect)\w*`, `wild[- ]type controls?`, `verify that the (?:assay|method|perturbation) work(?:s|ed)`)
	sensitivity     = anyOf(`sensitiv\w+`, `detection (?:limits?|threshold)`, `limits? of detection`, `thresholds?`, `dynamic range`, `statistical power`, `power (?:analysis|calculation)`, `smallest (?:detectable )?(?:effect|change)`, `calibrat\w+`, `dose[- ]response`, `signal[- ]to[- ]noise`)
	timing          = anyOf(`timing`, `time[- ]?(?:courses?|windows?|points?|series)`, `(?:assay|observation|measurement) window`, `kinetics?`, `within \d+\s*(?:s|sec|seconds?|min|minutes?|h|hours?|days?|weeks?)`, `\d+\s*(?:min|minutes?|h|hours?|days?|weeks?) (?:after|post|later)`, `after \d+\s*(?:min|minutes?|h|hours?|days?)`, `too (?:early|late)`)

	// Object transposition.
	otherObject = anyOf(`object[- ]transpos\w+`, `transpos\w+`, `(?:alternative|other|another|different|better|simpler|model) (?:experimental )?(?:systems?|organisms?|species|objects?|hosts?)`, `in vitro`, `cell-free`, `discount organisms?`, `instead of (?:mice|mouse|humans?|rats?|fish|flies|worms?|yeast)`)
	costBenefit = anyOf(`cheap(?:er|ly)?`, `costs?`, `costly`, `expensive`, `fast(?:er)?`, `slow(?:er)?`, `easier`, `tractab\w+`, `transparent`, `trade[- ]?offs?`, `because`, `at the price of`, `invariant lineage`)

	// Scale.
	scaleWords  = anyOf(`scales?`, `orders? of magnitude`, `diffusion`, `physical(?:ly)? (?:constraints?|plausib\w+|impossible)`, `too (?:slow|fast|small|large|far)`, `rates?`, `fast enough`, `plausible`)
	withUnit    = regexp.MustCompile(`(?i)[0-9]\s?(?:[µμ]m(?:²|\^2)?(?:/s)?|nm|mm|cm|km|m|m/s|ms|[µμ]s|ns|s|sec|seconds?|min|minutes?|h|hr|hours?|days?|weeks?|years?|k?Da|[pnµμm]?M|mol|k?J|k?cal|eV|kT|k?Hz|MHz|K|°C|bp|kb|Mb|bits?|bytes?|molecules?|cells?|fold|%|g|kg|mg|[µμ]g|l|ml|[µμ]l|pN|Pa|V|mV|W)\b`)
	figures     = regexp.MustCompile(`[0-9]`)
	calculating = regexp.MustCompile(`[=≈~≃∼]\s*[^=\s]*[0-9]|[0-9]\s*[×*/÷^·]\s*[0-9]|→|10\^?[-−⁻]?[0-9⁰¹²³⁴-⁹]`)
	ruling      = anyOf(`rul(?:es|ed|ing) out`, `therefore`, `thus`, `so that`, `hence`, `impl(?:y|ies)`, `violat\w+`, `exceeds?`, `below`, `above`, `too (?:slow|fast|small|large|far|few|many)`, `consistent with`, `plausible`, `impossible`, `compatible`, `incompatible`, `enough`, `insufficient`, `requires?`, `excludes?`, `longer than`, `shorter than`, `more than`, `less than`, `orders? of magnitude`)

	// Anomalies and kills.
	anomalyWords = anyOf(`anomal(?:y|ies|ous)`, `exceptions?`, `outliers?`, `does(?: not|n't) fit`, `do(?: not|n't) fit`, `unexplained`)
	broom        = anyOf(`occam'?s? broom`, `broom`, `swe(?:ep|pt|eping) (?:it |them |this )?under`, `not (?:to )?hide`, `appendix`)
	unjustified  = anyOf(`seems? (?:un(?:likely|necessary)|wrong|off)`, `(?:do not|don't|no longer) need`, `(?:is|it's|getting|too|gets|becoming) (?:too )?complicated`, `not elegant`, `inelegant`, `simpler without`, `i (?:do not|don't) like`, `out of scope`, `not interesting`, `boring`, `to save (?:time|space)`)
	evidenceOf   = anyOf(`contradict\w*`, `falsif\w+`, `refut\w+`, `disprov\w+`, `observ\w+`, `results?`, `data`, `evidence`, `measured`, `showed`, `shown`, `found`, `experiments?`, `incompatible`, `violat\w+`, `failed`, `subsumed`, `fails`)

	mechanismWord = anyOf(`mechanisms?`)

	brenner = regexp.MustCompile(`(?i)\bbrenner(?:'s)?\b`)
)
