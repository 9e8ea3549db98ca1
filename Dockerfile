# The image of an operator: the program, the authorities that certificates are checked against, and nothing else. The cluster operator
# has the JMX exporter as well, which it copies to nodes of Kafka.
#   docker build --build-arg OPERATOR=roller .
ARG GO_IMAGE=golang:1.26
ARG MAVEN_IMAGE=maven:3.9-eclipse-temurin-17
ARG OPERATOR=topic-operator
FROM ${GO_IMAGE} AS build
ARG OPERATOR
WORKDIR /src
# The modules' requirements first, so that a change of code does not download them again. The workspace stays out: the
# program is built as its users would, from its own go.mod.
ENV GOWORK=off CGO_ENABLED=0
COPY api/go.mod api/go.sum api/
COPY cluster-operator/go.mod cluster-operator/go.sum cluster-operator/
COPY clusters/go.mod clusters/go.sum clusters/
COPY kafka/go.mod kafka/go.sum kafka/
COPY kafka/kafkatest/go.mod kafka/kafkatest/
COPY operator/go.mod operator/go.sum operator/
COPY roller/go.mod roller/go.sum roller/
COPY topic-operator/go.mod topic-operator/go.sum topic-operator/
RUN go -C ${OPERATOR} mod download
COPY api api
COPY cluster-operator cluster-operator
COPY clusters clusters
COPY kafka kafka
COPY operator operator
COPY roller roller
COPY topic-operator topic-operator
# The release and the commit, for --version, the metric kafka_operators_build_info, and operators that compare theirs.
ARG VERSION=
ARG REVISION=
ARG BUILD=github.com/kafka-operators/kafka-operators/operator/build
RUN go -C ${OPERATOR} build -trimpath -ldflags "-s -w -X ${BUILD}.version=${VERSION} -X ${BUILD}.revision=${REVISION}" -o /operator ./cmd

# Only what the operator's own stage names is made.
FROM scratch AS topic-operator
FROM scratch AS roller
FROM ${MAVEN_IMAGE} AS jars
COPY hack/jmx-exporter/pom.xml /
RUN mvn -q -B -f /pom.xml org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
    -DincludeScope=runtime -Dmdep.stripVersion=true -DoutputDirectory=/jars
FROM scratch AS cluster-operator
COPY --from=jars /jars/ /

FROM ${OPERATOR}
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /operator /operator
USER 65532:65532
ENTRYPOINT ["/operator"]
