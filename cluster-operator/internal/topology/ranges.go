package topology

import (
	"fmt"
	"strconv"
	"strings"
)

// idRange is a run of ids, which descends where from is greater than to.
type idRange struct{ from, to int32 }

// maxRange bounds a range, which is searched id by id.
const maxRange = 100_000

// ids are ranges in the order in which they are used up.
type ids []idRange

// parseIDs reads node ids as the annotations strimzi.io/next-node-ids and strimzi.io/remove-node-ids have them: [0, 1, 10-20, 50-30].
func parseIDs(text string) (ids, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	inner, opened := strings.CutPrefix(text, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("%q is not in brackets, such as [0, 10-20]", text)
	}
	if strings.TrimSpace(inner) == "" {
		return nil, nil
	}
	var list ids
	for part := range strings.SplitSeq(inner, ",") {
		low, high, isRange := strings.Cut(part, "-")
		from, err := parseID(low)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = parseID(high); err != nil {
				return nil, err
			}
		}
		if max(from, to)-min(from, to) > maxRange {
			return nil, fmt.Errorf("%q spans more than %d ids", strings.TrimSpace(part), maxRange)
		}
		list = append(list, idRange{from, to})
	}
	return list, nil
}

func parseID(text string) (int32, error) {
	id, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a node id", strings.TrimSpace(text))
	}
	return int32(id), nil // ParseUint bounds it to 31 bits
}

// first returns the first id that is accepted, in the order in which the ids were written.
func (l ids) first(accept func(int32) bool) (int32, bool) {
	for _, r := range l {
		step := int32(1)
		if r.from > r.to {
			step = -1
		}
		for id := r.from; ; id += step {
			if accept(id) {
				return id, true
			}
			if id == r.to {
				break
			}
		}
	}
	return 0, false
}
