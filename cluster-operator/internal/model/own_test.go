package model

import (
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

func TestOwnPropertiesAreThoseBehindTheUsers(t *testing.T) {
	g := NewWithT(t)
	command := regexp.MustCompile(`(?s)STRIMZI_JAVA_SYSTEM_PROPERTIES:-\}(.*)$`).FindStringSubmatch(script("start.sh"))
	g.Expect(command).To(HaveLen(2))
	var names []string
	for _, property := range regexp.MustCompile(`-D([A-Za-z0-9.]+)=`).FindAllStringSubmatch(command[1], -1) {
		names = append(names, property[1])
	}
	g.Expect(names).To(Equal(OwnProperties))
}
