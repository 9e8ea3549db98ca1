# The image of the topic operator: the program, the authorities that certificates are checked against, and nothing else.
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS build
WORKDIR /src
# The modules' requirements first, so that a change of code does not download them again. The workspace stays out: the
# program is built as its users would, from its own go.mod.
ENV GOWORK=off CGO_ENABLED=0
COPY api/go.mod api/go.sum api/
COPY kafka/go.mod kafka/go.sum kafka/
COPY topic-operator/go.mod topic-operator/go.sum topic-operator/
RUN go -C topic-operator mod download
COPY api api
COPY kafka kafka
COPY topic-operator topic-operator
RUN go -C topic-operator build -trimpath -ldflags '-s -w' -o /topic-operator ./cmd

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /topic-operator /topic-operator
USER 65532:65532
ENTRYPOINT ["/topic-operator"]
