package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// jsonAt says where a text stops being one JSON value: line and column, both from 1, the column in
// characters.
func jsonAt(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return errors.New("it is empty")
	}
	var v any
	err := json.Unmarshal(text, &v)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return err
	}
	at := int(syntax.Offset) - 1 // of the byte that does not fit
	if syntax.Error() == "unexpected end of JSON input" {
		at = len(text)
	}
	line := 1 + bytes.Count(text[:at], []byte{'\n'})
	column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:at], '\n')+1:at])
	return fmt.Errorf("line %d, column %d: %w", line, column, err)
}
