package options

import (
	"flag"
	"testing"

	"github.com/kafka-operators/kafka-operators/operator/settings/settingstest"
)

var update = flag.Bool("update", false, "rewrite the tables of settings in the documentation")

func TestDocumentationIsUpToDate(t *testing.T) {
	settingstest.CheckDocument(t, newDraft().table(), "../../../docs/roller/configuration.md", *update)
}

func TestSettingsAcceptWhatTheyRecommend(t *testing.T) {
	settingstest.CheckAdvice(t, newDraft().table(), "Alter", "Cluster", "auto.leader.rebalance.enable", "roll", "plan",
		"explain")
}
