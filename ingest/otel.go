package ingest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"waymark/catalog"
	"waymark/episodic"
)

// document returns a record as a document of its attributes and of the parts that the row defines. The first of several
// attributes with the same name is used; attributes of events come after those of the span.
func (row *spanRow) document(record, attributes *document) *document {
	d := &document{members: map[string]*document{}}
	d.attributes(attributes)
	events, _ := record.at(row.events).elements()
	for _, e := range events {
		d.attributes(e.at("attributes"))
	}
	for name, member := range record.members { // of a table: attributes.tool.name
		if name, ok := strings.CutPrefix(name, "attributes."); ok && member != nil {
			d.attribute(name, member.raw)
		}
	}
	for name, paths := range map[string]string{
		"id": row.id, "session": row.session, "name": row.name, "kind": row.kind, "begin": row.begin, "end": row.end,
		"status": row.status, "failure": row.failure, "server": row.server, "input": row.input, "output": row.output,
	} {
		if v := record.value(paths); v != nil {
			d.members["span."+name] = &document{raw: v}
		}
	}
	d.members["span.tool"] = &document{raw: encode(called(record.text(row.name)))}
	var text []string
	for _, paths := range []string{"error.type exception.type", "span.failure exception.message"} {
		if v := d.value(paths); v != nil {
			text = append(text, message(v))
		}
	}
	d.members["span.text"] = &document{raw: encode(strings.TrimSpace(strings.Join(append(text, record.text(row.message)), " ")))}
	return d
}

// attributes adds attributes that are given as in OTLP, as a list of {key, value}, or as an object.
func (d *document) attributes(of *document) {
	list, isList := of.elements()
	for _, a := range list {
		d.attribute(a.text("key"), anyValue(a.at("value"), 0))
	}
	if isList {
		return
	}
	for name, v := range of.object() {
		if v != nil {
			d.attribute(name, v.raw)
		}
	}
}

// attribute adds one attribute. A bare boolean or number becomes a string.
func (d *document) attribute(name string, v json.RawMessage) {
	if d.members[name] != nil || strings.HasPrefix(name, "span.") || len(v) == 0 || string(v) == "null" {
		return
	}
	if !bytes.ContainsAny(v[:1], `{["`) {
		v = encode(string(v))
	}
	d.members[name] = &document{raw: v}
}

// anyValue returns the value of an OTLP attribute, nil if it is nested more than 16 levels deep.
func anyValue(v *document, depth int) json.RawMessage {
	if v == nil || depth > 16 {
		return nil
	}
	if list, ok := v.at("arrayValue.values").elements(); ok {
		all := make([]json.RawMessage, len(list))
		for i, e := range list {
			all[i] = anyValue(e, depth+1)
		}
		return encode(all)
	}
	if list, ok := v.at("kvlistValue.values").elements(); ok {
		all := map[string]json.RawMessage{}
		for _, e := range list {
			all[e.text("key")] = anyValue(e.at("value"), depth+1)
		}
		return encode(all)
	}
	whole := v.value("intValue") // may be a string
	if number := bytes.Trim(whole, `"`); json.Valid(number) {
		return number
	}
	return v.value("stringValue boolValue doubleValue bytesValue")
}

// called removes the operation from the name of a span, which leaves the name of the tool.
func called(name string) string {
	for _, operation := range []string{"execute_tool ", "tools/call ", "running tool: "} {
		if tool, ok := strings.CutPrefix(name, operation); ok {
			return strings.TrimSpace(tool)
		}
	}
	return name
}

func originOf(resource *document) string {
	instance := resource.text("service.instance.id host.name host.id")
	return catalog.Cut(strings.Trim(resource.text("service.name")+"@"+instance, "@"), catalog.MaxID)
}

// ErrNotOTLP is returned for a request that is not OTLP.
var ErrNotOTLP = errors.New("not OTLP")

// jsonOf converts a protobuf export request to OTLP JSON: the JSON form of the messages, but with ids in hexadecimal
// digits.
func jsonOf(body []byte) ([]byte, error) {
	td := new(trace.TracesData) // it has the fields of an export request
	if err := (proto.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(body, td); err != nil {
		text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: ") // the library writes either kind of space
		return nil, errors.New(text)
	}
	for _, rs := range td.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, sp := range ss.Spans {
				for _, id := range []*[]byte{&sp.TraceId, &sp.SpanId, &sp.ParentSpanId} {
					*id, _ = base64.StdEncoding.DecodeString(hex.EncodeToString(*id)) // base64 in the JSON form yields these digits again
				}
			}
		}
	}
	return protojson.Marshal(td)
}

// OTLP reads an export request of traces in JSON or protobuf. It calls key for the digest key if there are spans. A
// span that cannot be read is left out; it is an error only if no span can be read.
func OTLP(body []byte, protobuf bool, key func() (episodic.DigestKey, error)) ([]*Span, error) {
	var err error
	form := "JSON"
	if protobuf {
		form = "protobuf"
		body, err = jsonOf(body)
	}
	d, wrong := newDocument(line{data: body})
	if err != nil || wrong != nil {
		return nil, fmt.Errorf("%w %s: %.200s", ErrNotOTLP, form, cmp.Or(err, wrong))
	}
	t := &traces{format: "otel"}
	if bytes.Contains(body, []byte("spanId")) || bytes.Contains(body, []byte("span_id")) {
		digests, err := key()
		if err != nil {
			return nil, err
		}
		t.digests = &digests
	}
	s := newSpans(t)
	s.record(0, spanRows["otel"], d, &Span{}, 0)
	if t.tally.Skipped > 0 && len(s.all) == 0 {
		return nil, fmt.Errorf("%w %s: no span has an id", ErrNotOTLP, form)
	}
	return s.all, nil
}
