package score

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A RequestError is the error for a request that cannot be scored. Field is its place, as in
// hypotheses[2].scores.novelty; errors of a single card name the dimension or gate alone.
type RequestError struct{ Field, Detail string }

func (e *RequestError) Error() string {
	if e.Field == "" {
		return e.Detail
	}
	return e.Field + ": " + e.Detail
}

// Refuse returns a [RequestError].
func Refuse(field, format string, args ...any) error {
	return &RequestError{field, fmt.Sprintf(format, args...)}
}

// Within returns err as a [RequestError] of a part of the request: place is put before the field that err names.
func Within(place string, err error) error {
	var request *RequestError
	if errors.As(err, &request) {
		return &RequestError{place + "." + request.Field, request.Detail}
	}
	return &RequestError{place, err.Error()}
}

// Check checks a request by the tags of its fields and returns a [RequestError] for the first field that is wrong:
//
//	is:"required"      a text is not blank
//	is:"name"          a text has no invisible character
//	is:"words"         a text has a letter or digit
//	min:"1" max:"10"   range of a number, from 0 without min; maximum is a synonym of max
//	max:"64"           bytes of a text, elements of a list
//	unique:"ID"        field whose values differ in all elements of a list
//
// The tags of a map apply to its values; its keys are checked as names. A text with a maximum must be valid UTF-8.
func Check(request any) error { return check("", reflect.ValueOf(request), "") }

func check(place string, v reflect.Value, tag reflect.StructTag) error {
	limit := cmp.Or(tag.Get("max"), tag.Get("maximum"))
	most, err := strconv.ParseFloat(limit, 64)
	if err != nil {
		most = math.Inf(1)
	}
	tooMany := func(n int, unit string) error {
		if float64(n) > most {
			return Refuse(place, "%d%s are more than %v", n, unit, int(most))
		}
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return check(place, v.Elem(), tag)
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if err := check(strings.Trim(place+"."+name, "."), value, field.Tag); err != nil {
				return err
			}
		}
	case reflect.Map:
		byName := func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) }
		for _, key := range slices.SortedFunc(v.Seq(), byName) {
			member := at(place, key.String())
			err := cmp.Or(check(member, key, `is:"required,name" max:"256"`), check(member, v.MapIndex(key), tag))
			if err != nil {
				return err
			}
		}
	case reflect.Slice:
		if err := tooMany(v.Len(), ""); err != nil {
			return err
		}
		first := map[string]int{}
		for i := range v.Len() {
			if err := check(fmt.Sprintf("%s[%d]", place, i), v.Index(i), ""); err != nil {
				return err
			}
			if unique := tag.Get("unique"); unique != "" {
				name, field := v.Index(i).FieldByName(unique).String(), strings.ToLower(unique)
				if j, twice := first[name]; twice {
					const format = "%s is also the %s of %s[%d]"
					return Refuse(fmt.Sprintf("%s[%d].%s", place, i, field), format, quoted(name), field, place, j)
				}
				first[name] = i
			}
		}
	case reflect.String:
		if limit != "" {
			return cmp.Or(tooMany(v.Len(), " bytes"), checkText(place, v.String(), tag.Get("is")))
		}
	case reflect.Int, reflect.Int64, reflect.Float64:
		x := v.Convert(reflect.TypeFor[float64]()).Float()
		if v.Type() == reflect.TypeFor[Decimal]() {
			x /= unit
		}
		from := cmp.Or(tag.Get("min"), "0")
		least, _ := strconv.ParseFloat(from, 64)
		if limit != "" && !(least <= x && x <= most) {
			return Refuse(place, "%v is not between %s and %s", v, from, limit)
		}
	}
	return nil
}

// checkText returns an error for a text that is not valid UTF-8 or violates its tag is.
func checkText(place, text, is string) error {
	word := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }
	invisible := func(c rune) bool { return !unicode.IsGraphic(c) }
	switch {
	case !utf8.ValidString(text):
		return Refuse(place, "is not valid UTF-8")
	case strings.Contains(is, "required") && strings.TrimSpace(text) == "":
		return Refuse(place, "is required")
	case strings.Contains(is, "name") && strings.ContainsFunc(text, invisible):
		return Refuse(place, "%q has an invisible character", text)
	case strings.Contains(is, "words") && !strings.ContainsFunc(text, word):
		return Refuse(place, "%q has no word", text)
	}
	return nil
}

// at returns the place of a member: labels["A"].
func at(field, key string) string { return field + "[" + quoted(key) + "]" }
