package brokerconfig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The columns of a table's line, separated by tabs; see hack/brokerconfig/Table.java, which writes them. A dash stands for nothing, and null for no
// default, because the empty string is one.
const (
	columnKey = iota
	columnType
	columnMode
	columnController
	columnGroup
	columnBefore
	columnDefault
	columns
)

const titlePrefix = "# Kafka "

// parseTable reads a generated table.
func parseTable(text string) (*Table, error) {
	title, _, _ := strings.Cut(text, "\n")
	version, _, ok := strings.Cut(strings.TrimPrefix(title, titlePrefix), ". ")
	if !ok || !strings.HasPrefix(title, titlePrefix) || minor(version) == nil {
		return nil, fmt.Errorf("the first line names no version of Kafka: %q", title)
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
			return nil, fmt.Errorf("line %d: %s stands there twice", number+1, k.Name)
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
	k := &Key{Name: fields[columnKey], Group: fields[columnGroup]}
	var ok bool
	if k.Type, ok = types[fields[columnType]]; !ok {
		return nil, fmt.Errorf("%s is of an unknown type, %s", k.Name, fields[columnType])
	}
	if k.Mode, ok = modes[fields[columnMode]]; !ok {
		return nil, fmt.Errorf("%s has an unknown mode, %s", k.Name, fields[columnMode])
	}
	k.DynamicOnControllers = fields[columnController] == "dynamic"
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
	k.prepare()
	return k, nil
}
