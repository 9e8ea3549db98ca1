package kafka_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kafka-operators/kafka-operators/kafka"
)

func TestTheErrorOfTheWrongCluster(t *testing.T) {
	err := fmt.Errorf("reading: %w", kafka.NewWrongClusterError("mine", "theirs"))
	answering, ok := kafka.WrongCluster(err)
	if !ok || answering != "theirs" || kafka.ClassOf(err) != kafka.ClassWrongCluster || kafka.IsRetriable(err) {
		t.Errorf("got %q, %t of class %d", answering, ok, kafka.ClassOf(err))
	}
	for _, id := range []string{"mine", "theirs"} {
		if !strings.Contains(err.Error(), id) {
			t.Errorf("the message does not name %s: %v", id, err)
		}
	}
	for _, other := range []error{nil, errors.New("x"), kafka.NewError(104, ""), kafka.NewTransportError("x", nil)} {
		if answering, ok := kafka.WrongCluster(other); ok || answering != "" {
			t.Errorf("%v is taken for it", other)
		}
	}
}

func TestWhatAClientCanBeBoundTo(t *testing.T) {
	for _, c := range []struct {
		present, wanted string
		ok              bool
	}{{"", "a", true}, {"a", "a", true}, {"a", "b", false}, {"", "", false}, {"a", "", false}} {
		err := kafka.CheckPin(c.present, c.wanted)
		if (err == nil) != c.ok || err != nil && kafka.ClassOf(err) != kafka.ClassInvalid {
			t.Errorf("bound to %q, binding to %q: %v", c.present, c.wanted, err)
		}
	}
}
