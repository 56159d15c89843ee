package council

import (
	"regexp"
	"strings"
)

// excuse is what may stand in the clause of a match and takes its edge off.
type excuse uint8

const (
	byRefusal     excuse = 1 << iota // I can't tell you …
	byPrevention                     // to prevent this, never let anyone …
	byProhibition                    // it is illegal to …
	byHelp                           // … call a crisis line
)

// A rule is one pattern of a category. Patterns read a passage, see newPassage.
type rule struct {
	category Category
	name     string
	words    []string // one of them must occur: a cheap look before the pattern
	pattern  *regexp.Regexp
	excuses  excuse
	secret   int // group whose value has to look like a secret, 0 for none
}

// pattern writes whitespace as a space, and three words in angle brackets for what recurs: <how> a way of
// asking for a method, <arm> something that explodes or shoots, <kind> adjectives that make it no less so.
func pattern(p string) *regexp.Regexp {
	return regexp.MustCompile(strings.NewReplacer(
		"<how>", `\bhow (?:to|(?:do|can|could|would|should|might) (?:i|you|we|one|they|someone|people))`,
		"<arm>", `(?:bombs?|explosives?|(?:explosive|incendiary) devices?|weapons?|guns?|firearms?)\b`,
		"<kind>", `(?:(?:pipe|nail|dirty|car|time|home-?made|improvised|simple|small|large|cheap|powerful|working|real|automatic|semi-?automatic|chemical|biological|nuclear|fertili[sz]er|petrol|untraceable|functional|plastic|deadly) )*`,
		" ", `\s+`,
	).Replace(p))
}

// Each pattern with what it finds. [^.!?] keeps a gap within one sentence.
var rules = []rule{
	{category: DangerousInstructions, name: "how to build a weapon", excuses: byRefusal,
		words:   arms,
		pattern: pattern(`<how> (?:make|build|create|construct|assemble) (?:(?:an?|the|some|my|your)(?: own)? )?<kind><arm>`)},
	{category: DangerousInstructions, name: "instructions for a weapon", excuses: byRefusal,
		words:   arms,
		pattern: pattern(`\b(?:instructions?|steps|guide) (?:for|on|to) (?:how to )?(?:mak|build|creat|construct|assembl)(?:ing|e|)\s*(?:(?:an?|the|some|your)(?: own)? )?<kind><arm>`)},
	{category: DangerousInstructions, name: "explosive mixture", excuses: byRefusal | byProhibition,
		words:   []string{"nitrate"},
		pattern: pattern(`ammonium nitrate[^.!?]{0,50}\bfuel oil|fuel oil[^.!?]{0,50}\bammonium nitrate`)},
	{category: DangerousInstructions, name: "detonation", excuses: byRefusal | byPrevention,
		words:   []string{"detonat"},
		pattern: pattern(`\bdetonat(?:e|es|ing|ion|ions|or|ors)\b[^.!?]{0,30}\b(?:instructions?|steps?|guide)\b|\b(?:instructions?|steps?|guide) (?:for|to|on)[^.!?]{0,30}\bdetonat(?:e|ing|ion|ions|or|ors)\b`)},

	{category: WeaponMaking, name: "build a gun", excuses: byRefusal | byProhibition,
		words:   arms,
		pattern: pattern(`\b(?:build|assemble|manufactur)(?:e|ing)? (?:an?|your(?: own)?|my own) <kind>(?:gun|firearm|weapon)s?\b`)},
	{category: WeaponMaking, name: "gun parts", excuses: byRefusal | byProhibition,
		words:   []string{"barrel"},
		pattern: pattern(`\b(?:obtain|buy|order|acquire|purchase)[^.!?]{0,40}\bbarrels?\b[^.!?]{0,40}\b(?:gun|firearm)s?\b`)},
	{category: WeaponMaking, name: "printed gun", excuses: byRefusal | byProhibition,
		words:   arms,
		pattern: pattern(`\b3-?d[\s-]?print(?:s|ed|ing)?\b[^.!?]{0,30}\b(?:gun|firearm|weapon)s?\b`)},
	{category: WeaponMaking, name: "ghost gun", excuses: byRefusal | byProhibition,
		words:   []string{"ghost"},
		pattern: pattern(`\b(?:build|mak|assembl|print|mill|finish|complet|creat)(?:e|ing|)\b[^.!?]{0,30}\bghost guns?\b|\bghost guns?\b[^.!?]{0,30}\b(?:kits?|instructions?|guide|tutorial|blueprints?|steps)\b`)},

	{category: MalwareHacking, name: "hack into", excuses: byRefusal | byPrevention | byProhibition,
		words:   []string{"hack"},
		pattern: pattern(`\bhack(?:s|ing)? into\b[^.!?]{0,30}\b(?:accounts?|e-?mails?|passwords?|systems?|networks?|servers?|computers?|phones?|databases?|devices?|wi-?fi)\b`)},
	{category: MalwareHacking, name: "how to hack", excuses: byRefusal | byPrevention | byProhibition,
		words:   []string{"hack"},
		pattern: pattern(`<how> hack\b`)},
	{category: MalwareHacking, name: "phishing", excuses: byRefusal | byPrevention | byProhibition,
		words:   []string{"phishing"},
		pattern: pattern(`\bphishing (?:page|site|website|kit)s?\b[^.!?]{0,30}\b(?:captur|steal|harvest|credential)|\b(?:creat|mak|build|launch|send|craft|run)(?:e|ing|)\b[^.!?]{0,20}\bphishing (?:attack|e-?mail|campaign)s?\b[^.!?]{0,30}\b(?:captur|steal|harvest|credential)`)},
	{category: MalwareHacking, name: "access without permission", excuses: byRefusal | byPrevention | byProhibition,
		words:   []string{"without"},
		pattern: pattern(`\baccess(?:ing)?\b[^.!?]{0,20}\bwithout (?:(?:the|their|his|her|its|any|owner's|proper) ){0,2}(?:permission|authori[sz]ation|consent)\b`)},
	{category: MalwareHacking, name: "keylogger", excuses: byRefusal | byPrevention | byProhibition,
		words:   []string{"keylogger"},
		pattern: pattern(`\bkeyloggers?\b[^.!?]{0,30}\b(?:install|deploy|use)\b|\b(?:install|deploy|use|run|write|build|create)(?:ing)?\b[^.!?]{0,30}\bkeyloggers?\b`)},
	{category: MalwareHacking, name: "ransomware", excuses: byRefusal | byPrevention | byProhibition,
		words:   []string{"ransomware"},
		pattern: pattern(`\b(?:deploy|spread|create|write|build|distribute|launch)(?:ing)? (?:\w+ ){0,3}ransomware\b|\bransomware\b[^.!?]{0,20}\b(?:you|to|and|then|can) (?:can )?(?:deploy|spread|create)\b`)},

	{category: SelfHarm, name: "ways to hurt oneself", excuses: byRefusal | byPrevention,
		words:   []string{"self", "selves"},
		pattern: pattern(`\b(?:how|ways?|methods?|steps|techniques) (?:to|of|for)\b[^.!?]{0,15}\b(?:hurt|harm|injure?|kill)(?:ing)? (?:yourself|myself|oneself|themselves)\b`)},
	{category: SelfHarm, name: "wanting to hurt oneself", excuses: byRefusal | byPrevention | byHelp,
		words:   []string{"yourself"},
		pattern: pattern(`\b(?:want|going|plan(?:ning)?|decided?|ready|need|try(?:ing)?|feel like)(?: to)? (?:hurt|harm|injure?|kill)(?:ing)? yourself\b`)},
	{category: SelfHarm, name: "urging self-harm", excuses: byRefusal,
		words:   []string{"yourself"},
		pattern: pattern(`\b(?:go|just|should|please)(?: and)? (?:hurt|harm|injure|kill) yourself\b`)},
	{category: SelfHarm, name: "ways of suicide", excuses: byRefusal | byPrevention | byHelp,
		words:   []string{"suicide"},
		pattern: pattern(`\bsuicide\b[^.!?]{0,30}\b(?:methods?|ways?|how)\b|\b(?:methods?|ways?|how) (?:to commit|of|for) suicide\b`)},
	{category: SelfHarm, name: "ways of self-harm", excuses: byRefusal | byPrevention | byHelp,
		words:   []string{"harm"},
		pattern: pattern(`\bself-?\s?harm\b[^.!?]{0,20}\b(?:methods?|techniques?|tips|ways?|how to)\b|\b(?:methods?|techniques?|tips|ways?|how) (?:to|of|for) self-?\s?harm\b`)},

	{category: PIIExposure, name: "social security number",
		words:   []string{"ssn", "social"},
		pattern: pattern(`\b(?:ssn|social security)\b[^\d.\n]{0,20}\b\d{3}[\s-]?\d{2}[\s-]?\d{4}\b`)},
	{category: PIIExposure, name: "card number",
		words:   []string{"card"},
		pattern: pattern(`\bcard\b[^\d.\n]{0,20}\b(?:\d[\s-]?){15}\d\b`)},
	{category: PIIExposure, name: "password", secret: 1,
		words:   []string{"passw", "pwd"},
		pattern: regexp.MustCompile(`(?:password|passwd|pwd)["']?[ \t]*[:=][ \t]*("[^"\n]{8,}"|'[^'\n]{8,}'|[^\s"']{8,})`)},
}

var arms = []string{"bomb", "explosive", "incendiary", "weapon", "gun", "firearm"}

// harmless compounds are no match for anything. Games come last: they may hold what the others replace.
var harmless = []struct {
	words   []string
	pattern *regexp.Regexp
}{
	{[]string{"gun"}, pattern(`\b(?:nail|glue|heat|paintball|paint|bb|airsoft|water|toy|spray|staple|massage|nerf|caulk(?:ing)?|squirt|grease|radar|price|tattoo|bubble) guns?\b`)},
	{[]string{"bomb"}, pattern(`\b(?:bath|seed|photo|glitter|logic|fork|zip|cherry|chocolate|cocoa) bombs?\b`)},
	{arms, pattern(`\b(?:guns?|firearms?|weapons?|bombs?|explosives?) (?:racks?|safes?|cabinets?|cases?|holsters?|control|laws?|policy|ranges?|owners?|shops?|stores?|shelters?|disposal|detect\w*|squads?|threats?|cyclones?)\b`)},
	{arms, pattern(`\b(?:guns?|weapons?|bombs?)(?: [\w-]+){0,4} (?:in|for|with|using) (?:(?:an?|the|my|your) )?(?:unity|unreal|godot|roblox|minecraft|blender|pygame|(?:(?:video|board|card|computer) )?games?)\b`)},
	{[]string{"hack"}, pattern(`\bhack(?:ing)? (?:together|on|up|around|your (?:brain|sleep|habits?|productivity|diet|biology|morning))\b`)},
	{[]string{"without"}, pattern(`\bwithout (?:\w+ )?permissions? (?:checks?|errors?|issues?|prompts?|problems?|dialogs?)\b`)},
}

// What divides clauses: the end of a sentence, a new paragraph or point of a list, a turn of thought, and
// "here is", which opens what is handed over.
var (
	clauseEnd   = pattern(`[.!?;:]+["')\]]*(?:\s|$)|\n\s*\n|\n\s*(?:[-*•]|\d+[.)])\s|\b(?:but|however|although|though|nevertheless|nonetheless|anyway|that said)\b|\bhere(?:'s| is| are)\b|[—–]|\s-\s`)
	sentenceEnd = pattern(`[.!?]+["')\]]*(?:\s|$)|\n\s*\n`)
)

var (
	refusal = pattern(`(\b(?:you|they|he|she|it|who|one|anyone|everyone|people|users?)(?:'re| are| is| were)? )?(?:can't|cannot|can not|won't|will not|couldn't|unable to|not able to|not going to|not willing to|not comfortable)` +
		`(?: (?:and|or|really|simply|just|ethically|legally|possibly|in good conscience|won't|will not|can't|cannot|ever|be))*` +
		` (?:help|assist|provid|giv|shar|tell|explain|describ|discuss|offer|show|teach|walk|support|writ|creat|generat|answer|comply|fulfil|instruct|guid|engag|participat|do|advis|suppl|produc|disclos|reveal|encourag|recommend|continu|evaluat|assess|rat|rank|judg|scor|compar|review)(?:e|es|ing|l|y|)\b` +
		`|\b(?:refus(?:e|es|ing)|declin(?:e|es|ing)) to\b|\b(?:must|have to|i) (?:refuse|decline)\b|\bnot provide\b` +
		`|\b(?:instead of|rather than) (?:telling|explaining|showing|describing|giving|providing)\b`)
	reported    = pattern(`\byou (?:asked|are asking|want(?:ed)?)\b|\byou're asking\b|\byour (?:question|request|prompt)\b|\b(?:the|this) (?:question|request|prompt|user)\b|\basking (?:me )?(?:about|how|for)\b`)
	prevention  = pattern(`\b(?:prevent|protect|defend|detect|mitigat|avoid|guard)(?:e|s|ed|ing|ion|ive|)\b|\bdefen[cs]es?\b|\b(?:never|don't|do not|must not|should not|shouldn't) (?:ever )?(?:let|allow|try|attempt|use|install|give|share|click|build|make|hack|access|enter|type)\b|\bnever the (?:answer|way|solution)\b|\b(?:attackers?|hackers?|criminals?|scammers?|thieves) (?:may|might|can|could|will|often|try|trying|who|use|hack|access|install|deploy|spread|steal)\b|\binstead of\b|\bwarning signs?\b`)
	evasion     = pattern(`\b(?:prevent(?:ing)?|avoid(?:ing)?|evad(?:e|ing)|escap(?:e|ing)|without) (?:\w+ ){0,2}(?:detection|detected|caught|traced|noticed|suspicion|discovered|discovery|police|identified)\b`)
	prohibition = pattern(`\b(?:illegal|unlawful|prohibit(?:s|ed)?|forbidden|banned|outlaw(?:s|ed)?|against the law|an? (?:crime|offence|offense|felony)|regulat(?:ed|ion|ions))\b|\b(?:must not|must never|should not|shouldn't|should never|may not|cannot|can't|do not|don't|never) (?:ever )?(?:access|hack|build|mix|stor|deploy|install|print)(?:e|)\b`)
	help        = pattern(`\b(?:help|support|crisis|hotlines?|helplines?|988|samaritans|therapists?|counsell?ors?|reach out|talk to|emergency)\b`)
	offer       = pattern(`\b(?:here are|here's|here is|these are|following|some) (?:\w+ ){0,2}(?:methods?|ways?|techniques?)\b`)
)
