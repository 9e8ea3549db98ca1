package kafka_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/kafka-operators/kafka-operators/kafka"
)

// Kafka's codes are dense, so walking well past the last one that kerr knows finds each of them.
func TestEveryCodeHasANameATextAndAClass(t *testing.T) {
	known := 0
	for code := int16(-1); code < 1000; code++ {
		var theirs *kerr.Error
		if !errors.As(kerr.ErrorForCode(code), &theirs) || theirs.Code != code {
			continue
		}
		known++
		err := kafka.NewError(code, "")
		if err.Code != code || err.Message == "" || strings.Contains(err.Message, "does not know") {
			t.Errorf("%s (%d) is not in the table: %+v", theirs.Message, code, err)
		}
		if err.Class == kafka.ClassUnknown && code != kafka.CodeUnknownServer {
			t.Errorf("%s (%d) has no class", theirs.Message, code)
		}
		// A code that franz-go retries must not be final here, unless its class says more than "retriable".
		switch err.Class {
		case kafka.ClassInvalid, kafka.ClassForbidden, kafka.ClassAuthentication, kafka.ClassExists, kafka.ClassDisabled, kafka.ClassUnsupported:
			if theirs.Retriable {
				t.Errorf("%s (%d) is retriable, and of class %d here", theirs.Message, code, err.Class)
			}
		}
	}
	if known < 130 {
		t.Errorf("kerr knows only %d codes: is this test still walking over all?", known)
	}
}

func TestNamesAreThoseOfKafkasOwnClients(t *testing.T) {
	for code, want := range map[int16]string{
		3: "UnknownTopicOrPartitionException", 7: "TimeoutException", 17: "InvalidTopicException", 29: "TopicAuthorizationException",
		31: "ClusterAuthorizationException", 35: "UnsupportedVersionException", 36: "TopicExistsException", 37: "InvalidPartitionsException",
		38: "InvalidReplicationFactorException", 40: "InvalidConfigurationException", 41: "NotControllerException",
		44: "PolicyViolationException", 58: "SaslAuthenticationException", 73: "TopicDeletionDisabledException",
		89: "ThrottlingQuotaExceededException", 100: "UnknownTopicIdException",
	} {
		if got := kafka.NewError(code, "").Name; got != want {
			t.Errorf("code %d is %s, want %s", code, got, want)
		}
	}
	if got := kafka.NewError(29, "Not here.").Error(); got != "TopicAuthorizationException: Not here." {
		t.Errorf("the broker's own text is lost: %q", got)
	}
	if got := kafka.NewError(12345, "").Class; got != kafka.ClassUnknown {
		t.Errorf("a code of the future is %v, want unknown", got)
	}
}
