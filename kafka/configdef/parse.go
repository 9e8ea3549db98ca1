package configdef

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The columns of a table's line, separated by tabs; see hack/brokerconfig/Table.java, which writes them. A dash stands for nothing, and
// null for no default, because the empty string is one.
const (
	columnKey = iota
	columnType
	columnMode
	columnController
	columnGroup
	columnBefore
	columnDefault
	columnValues
	columns
)

const titlePrefix = "# Kafka "

var modes = []string{"read-only", "per-broker", "cluster-wide", "per-listener"}

// parse reads a generated table.
func parse(text string) (*Table, error) {
	title, _, _ := strings.Cut(text, "\n")
	version, _, ok := strings.Cut(strings.TrimPrefix(title, titlePrefix), ". ")
	if !ok || !strings.HasPrefix(title, titlePrefix) || Minor(version) == nil {
		return nil, fmt.Errorf("the first line has no version of Kafka: %q", title)
	}
	t := &Table{Version: version, keys: map[string]*Key{}}
	for number, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		k, err := parseKey(strings.Split(line, "\t"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		if t.keys[k.Name] != nil {
			return nil, fmt.Errorf("line %d: duplicate key %s", number+1, k.Name)
		}
		t.keys[k.Name] = k
	}
	if len(t.keys) == 0 {
		return nil, errors.New("the table is empty")
	}
	return t, nil
}

func parseKey(fields []string) (*Key, error) {
	if len(fields) != columns {
		return nil, fmt.Errorf("%d columns, want %d", len(fields), columns)
	}
	k := &Key{
		Name: fields[columnKey], Type: Type(fields[columnType]), Mode: fields[columnMode], Group: fields[columnGroup],
		DynamicOnControllers: fields[columnController] == "dynamic",
	}
	if !slices.Contains(types, k.Type) {
		return nil, fmt.Errorf("%s has an unknown type, %s", k.Name, k.Type)
	}
	if !slices.Contains(modes, k.Mode) {
		return nil, fmt.Errorf("%s has an unknown mode, %s", k.Name, k.Mode)
	}
	if fields[columnBefore] != "-" {
		k.Before = strings.Split(fields[columnBefore], ",")
	}
	if fields[columnDefault] != "null" {
		value, err := strconv.Unquote(fields[columnDefault])
		if err != nil {
			return nil, fmt.Errorf("the default of %s: %w", k.Name, err)
		}
		k.Default = &value
	}
	var err error
	if k.Values, err = parseValues(fields[columnValues]); err != nil {
		return nil, fmt.Errorf("the values of %s: %w", k.Name, err)
	}
	return k, nil
}

func parseValues(text string) (Values, error) {
	var v Values
	if text == "-" {
		return v, nil
	}
	for rule := range strings.SplitSeq(text, " ") {
		name, value, _ := strings.Cut(rule, "=")
		switch name {
		case "min":
			v.Min = value
		case "max":
			v.Max = value
		case "oneof":
			v.OneOf = strings.Split(value, ",")
		case "oneof-any-case":
			v.OneOf, v.AnyCase = strings.Split(value, ","), true
		case "items":
			v.Items = strings.Split(value, ",")
		case "distinct":
			v.Distinct = true
		case "non-empty":
			v.NonEmpty = true
		case "code":
			v.Code = true
		default:
			return v, fmt.Errorf("unknown rule %s", rule)
		}
	}
	return v, nil
}
