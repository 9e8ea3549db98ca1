package kafkatest

import (
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/kafka-operators/kafka-operators/kafka"
	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/internal/rules"
)

// overlay answers a request as Kafka would: it rejects what the rules reject, and sends the rest to kfake.
func (s *session) overlay(c *call) (kmsg.Response, error) {
	switch req := c.req.(type) {
	case *kmsg.ApiVersionsRequest:
		return s.apiVersions(c, req)
	case *kmsg.CreateTopicsRequest:
		return s.createTopics(c, req)
	case *kmsg.DeleteTopicsRequest:
		return s.deleteTopics(c, req)
	case *kmsg.CreatePartitionsRequest:
		return s.createPartitions(c, req)
	case *kmsg.DescribeConfigsRequest:
		return s.describeConfigs(c, req)
	case *kmsg.IncrementalAlterConfigsRequest:
		return s.alterConfigs(c, req)
	case *kmsg.ElectLeadersRequest:
		return s.electLeaders(c, req)
	case *kmsg.DescribeQuorumRequest:
		return s.describeQuorum(req), nil
	case *kmsg.DescribeClusterRequest:
		return s.describeCluster(c, req)
	case *kmsg.MetadataRequest:
		return s.metadata(c, req)
	case *kmsg.UpdateFeaturesRequest:
		return s.updateFeatures(c, req)
	case *kmsg.UnregisterBrokerRequest:
		return s.unregisterBroker(c, req)
	}
	return nil, errors.New("a request of a version that kmsg does not know")
}

// apiVersions advertises requests that kfake lacks, and the features of a Kafka broker.
func (s *session) apiVersions(c *call, req *kmsg.ApiVersionsRequest) (kmsg.Response, error) {
	resp, err := s.ask(c, req)
	if err != nil {
		return nil, err
	}
	versions := resp.(*kmsg.ApiVersionsResponse)
	if versions.ErrorCode == 0 {
		quorum := kmsg.NewApiVersionsResponseApiKey()
		quorum.ApiKey, quorum.MaxVersion = keyDescribeQuorum, 2
		unregister := kmsg.NewApiVersionsResponseApiKey()
		unregister.ApiKey = keyUnregisterBroker
		versions.ApiKeys = append(versions.ApiKeys, quorum, unregister)
		s.describeFeatures(versions)
	}
	return versions, nil
}

func (s *session) createTopics(c *call, req *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	env := rules.Cluster{Brokers: s.cluster.brokers(), Partitions: int32(s.cluster.options.DefaultPartitions),
		ReplicationFactor: int16(min(3, s.cluster.options.Brokers))}
	all, rejected := req.Topics, map[string]error{}
	req.Topics = nil
	total := 0
	for _, t := range all {
		n := newTopic(t)
		partitions, _, err := env.Placement(n)
		total += int(partitions)
		if bad := rules.Name(t.Topic); bad != nil {
			err = bad
		} else if bad := rules.Configs(n.Configs); bad != nil && err == nil {
			err = bad
		}
		if err != nil && s.cluster.fake.TopicInfo(t.Topic) == nil { // for an existing topic, kfake's error comes first
			rejected[t.Topic] = err
			continue
		}
		req.Topics = append(req.Topics, t)
	}
	resp := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	if total > rules.MaxRecords {
		return failure(withTopics(req, all), kafka.CodePolicyViolation,
			rules.TooManyPartitions().Error()[len("PolicyViolationException: "):], 0), nil
	}
	if s.policyThrows(req.Topics) {
		return failure(withTopics(req, all), kafka.CodeUnknownServer, "", 0), nil
	}
	if len(req.Topics) > 0 {
		answer, err := s.ask(c, req)
		if err != nil {
			return nil, err
		}
		resp = answer.(*kmsg.CreateTopicsResponse)
	}
	s.completeCreate(req, resp)
	for _, t := range all {
		if err := rejected[t.Topic]; err != nil {
			out := kmsg.NewCreateTopicsResponseTopic()
			out.Topic = t.Topic
			out.ErrorCode, out.ErrorMessage = codeOf(err)
			resp.Topics = append(resp.Topics, out)
		}
	}
	return resp, nil
}

// policyThrows reports whether the CreateTopicPolicy throws on one of the topics. Kafka asks it about none that exist.
func (s *session) policyThrows(topics []kmsg.CreateTopicsRequestTopic) bool {
	throws := s.cluster.options.PolicyThrows
	return throws != nil && slices.ContainsFunc(topics, func(t kmsg.CreateTopicsRequestTopic) bool {
		return s.cluster.fake.TopicInfo(t.Topic) == nil && throws(newTopic(t))
	})
}

// completeCreate stores the configuration of created topics, and completes the error messages of existing ones.
func (s *session) completeCreate(req *kmsg.CreateTopicsRequest, resp *kmsg.CreateTopicsResponse) {
	for i := range resp.Topics {
		t := &resp.Topics[i]
		switch {
		case t.ErrorCode == kafka.CodeTopicAlreadyExists:
			_, t.ErrorMessage = codeOf(rules.Exists(t.Topic))
		case t.ErrorCode == 0 && !req.ValidateOnly:
			for _, asked := range req.Topics {
				if asked.Topic == t.Topic {
					s.cluster.configs.create(t.TopicID, newTopic(asked).Configs)
				}
			}
		}
	}
}

func withTopics(req *kmsg.CreateTopicsRequest, topics []kmsg.CreateTopicsRequestTopic) *kmsg.CreateTopicsRequest {
	req.Topics = topics
	return req
}

func newTopic(t kmsg.CreateTopicsRequestTopic) kafka.NewTopic {
	out := kafka.NewTopic{Name: t.Topic, Partitions: t.NumPartitions, ReplicationFactor: t.ReplicationFactor, Configs: map[string]*string{}}
	for _, c := range t.Configs {
		out.Configs[c.Name] = c.Value
	}
	if len(t.ReplicaAssignment) > 0 {
		out.Assignments = map[int32][]int32{}
		for _, a := range t.ReplicaAssignment {
			out.Assignments[a.Partition] = a.Replicas
		}
	}
	return out
}

func (s *session) deleteTopics(c *call, req *kmsg.DeleteTopicsRequest) (kmsg.Response, error) {
	if s.cluster.options.DeletionDisabled {
		return failure(req, kafka.CodeTopicDeletionDisabled, "", 0), nil
	}
	answer, err := s.ask(c, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.DeleteTopicsResponse)
	for i := range resp.Topics {
		t := &resp.Topics[i]
		switch t.ErrorCode {
		case 0:
			s.cluster.configs.drop(t.TopicID)
		case kafka.CodeUnknownTopicID:
			t.Topic = nil
		}
	}
	return resp, nil
}

// createPartitions lets kfake authorize and validate the request first. kfake would also accept the present number of partitions.
func (s *session) createPartitions(c *call, req *kmsg.CreatePartitionsRequest) (kmsg.Response, error) {
	check := *req
	check.ValidateOnly = true
	answer, err := s.ask(c, &check)
	if err != nil {
		return nil, err
	}
	checked := answer.(*kmsg.CreatePartitionsResponse)
	wanted := make(map[string]kmsg.CreatePartitionsRequestTopic, len(req.Topics))
	for _, t := range req.Topics {
		wanted[t.Topic] = t
	}
	good := *req
	good.Topics = nil
	resp := req.ResponseKind().(*kmsg.CreatePartitionsResponse)
	for _, t := range checked.Topics {
		if t.ErrorCode == 0 || t.ErrorCode == kafka.CodeInvalidPartitions {
			present := len(s.cluster.fake.PartitionInfos(t.Topic))
			if err := rules.Increase(t.Topic, int32(present), wanted[t.Topic].Count); err != nil {
				t.ErrorCode, t.ErrorMessage = codeOf(err)
			}
		}
		if t.ErrorCode == 0 && !req.ValidateOnly {
			good.Topics = append(good.Topics, wanted[t.Topic])
			continue
		}
		resp.Topics = append(resp.Topics, t)
	}
	if len(good.Topics) == 0 {
		return resp, nil
	}
	if answer, err = s.ask(c, &good); err != nil {
		return nil, err
	}
	resp.Topics = append(resp.Topics, answer.(*kmsg.CreatePartitionsResponse).Topics...)
	return resp, nil
}

func (s *session) describeConfigs(c *call, req *kmsg.DescribeConfigsRequest) (kmsg.Response, error) {
	answer, err := s.ask(c, req)
	if err != nil {
		return nil, err
	}
	resp := answer.(*kmsg.DescribeConfigsResponse)
	for i := range resp.Resources {
		r := &resp.Resources[i]
		if r.ResourceType == kmsg.ConfigResourceTypeBroker && i < len(req.Resources) {
			s.describeNode(r, req.Resources[i].ConfigNames, req.IncludeSynonyms)
		}
		if r.ErrorCode == 0 && r.ResourceType == kmsg.ConfigResourceTypeTopic && i < len(req.Resources) {
			if info := s.cluster.fake.TopicInfo(r.ResourceName); info != nil {
				r.Configs = s.cluster.configs.describe(info.TopicID, req.Resources[i].ConfigNames)
			}
		}
	}
	return resp, nil
}

func (s *session) alterConfigs(c *call, req *kmsg.IncrementalAlterConfigsRequest) (kmsg.Response, error) {
	resp := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	asked, nodes := map[string][]kmsg.IncrementalAlterConfigsRequestResourceConfig{},
		map[string][]kmsg.IncrementalAlterConfigsRequestResourceConfig{}
	forward := *req
	forward.Resources = nil
	for _, r := range req.Resources {
		if r.ResourceType == kmsg.ConfigResourceTypeTopic {
			if err := configOps(r.Configs); err != nil && s.cluster.fake.TopicInfo(r.ResourceName) != nil {
				out := kmsg.NewIncrementalAlterConfigsResponseResource()
				out.ResourceType, out.ResourceName = r.ResourceType, r.ResourceName
				out.ErrorCode, out.ErrorMessage = codeOf(err)
				resp.Resources = append(resp.Resources, out)
				continue
			}
			asked[r.ResourceName] = r.Configs
			// kfake knows few keys and would reject the others, so it only checks that the topic exists and may be altered.
			r.Configs = nil
		}
		if r.ResourceType == kmsg.ConfigResourceTypeBroker {
			nodes[r.ResourceName] = r.Configs
			r.Configs = nil
		}
		forward.Resources = append(forward.Resources, r)
	}
	if len(forward.Resources) == 0 {
		return resp, nil
	}
	answer, err := s.ask(c, &forward)
	if err != nil {
		return nil, err
	}
	for _, r := range answer.(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if ops, ok := asked[r.ResourceName]; ok && r.ResourceType == kmsg.ConfigResourceTypeTopic {
			s.completeAlter(&r, ops, req.ValidateOnly)
		}
		if r.ResourceType == kmsg.ConfigResourceTypeBroker {
			s.alterNode(&r, nodes[r.ResourceName], req.ValidateOnly)
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

// completeAlter stores the settings that kfake did not see.
func (s *session) completeAlter(r *kmsg.IncrementalAlterConfigsResponseResource, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig,
	validateOnly bool) {
	if r.ErrorCode == kafka.CodeUnknownTopicOrPartition {
		_, r.ErrorMessage = codeOf(rules.Missing(r.ResourceName))
	}
	if r.ErrorCode != 0 || validateOnly {
		return
	}
	if info := s.cluster.fake.TopicInfo(r.ResourceName); info != nil {
		s.cluster.configs.alter(info.TopicID, ops)
	}
}

// configOps checks the changes of one topic's configuration.
func configOps(ops []kmsg.IncrementalAlterConfigsRequestResourceConfig) error {
	for _, op := range ops {
		switch {
		case op.Op == kmsg.IncrementalAlterConfigOpDelete:
			if err := rules.Key(op.Name); err != nil {
				return err
			}
		case op.Value == nil:
			return kafka.NewError(kafka.CodeInvalidConfig, "Null value not supported for : "+op.Name)
		default:
			if err := rules.Config(op.Name, *op.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// describeQuorum reports each broker as a voter that is caught up.
func (s *session) describeQuorum(req *kmsg.DescribeQuorumRequest) kmsg.Response {
	resp := req.ResponseKind().(*kmsg.DescribeQuorumResponse)
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	now := time.Now().UnixMilli() // nothing is replicated, so no voter lags
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = s.cluster.Controller(), 1, 100
	for _, id := range s.cluster.brokers() {
		v := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		v.LastFetchTimestamp, v.LastCaughtUpTimestamp = now, now
		v.ReplicaID, v.LogEndOffset = id, 100
		p.CurrentVoters = append(p.CurrentVoters, v)
	}
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = "__cluster_metadata", append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

// describeCluster marks fenced brokers if the request asks for them, and otherwise omits them.
func (s *session) describeCluster(c *call, req *kmsg.DescribeClusterRequest) (kmsg.Response, error) {
	answer, err := s.ask(c, req)
	if err != nil {
		return nil, err
	}
	resp, live := answer.(*kmsg.DescribeClusterResponse), s.cluster.brokers()
	if req.Version >= 2 && req.IncludeFencedBrokers {
		resp.Brokers = slices.DeleteFunc(resp.Brokers,
			func(b kmsg.DescribeClusterResponseBroker) bool { return s.cluster.isUnregistered(b.NodeID) })
		for i := range resp.Brokers {
			resp.Brokers[i].IsFenced = !slices.Contains(live, resp.Brokers[i].NodeID)
		}
		return resp, nil
	}
	resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.DescribeClusterResponseBroker) bool { return !slices.Contains(live, b.NodeID) })
	return resp, nil
}

// metadata omits fenced brokers.
func (s *session) metadata(c *call, req *kmsg.MetadataRequest) (kmsg.Response, error) {
	answer, err := s.ask(c, req)
	if err != nil {
		return nil, err
	}
	resp, live := answer.(*kmsg.MetadataResponse), s.cluster.brokers()
	resp.Brokers = slices.DeleteFunc(resp.Brokers, func(b kmsg.MetadataResponseBroker) bool { return !slices.Contains(live, b.NodeID) })
	return resp, nil
}

// codeOf returns an error's code and message for a response.
func codeOf(err error) (int16, *string) {
	var e *kafka.Error
	if !errors.As(err, &e) {
		return kafka.CodeUnknownServer, nil
	}
	return e.Code, &e.Message
}

// failure answers each item of a request, or the whole request, with one error.
func failure(req kmsg.Request, code int16, message string, throttle int32) kmsg.Response {
	resp := req.ResponseKind()
	var text *string
	if message != "" {
		text = &message
	}
	fail(req, resp, code, text)
	if t, ok := resp.(kmsg.SetThrottleResponse); ok {
		t.SetThrottle(throttle)
	}
	return resp
}

func fail(req kmsg.Request, resp kmsg.Response, code int16, text *string) {
	switch resp := resp.(type) {
	case *kmsg.CreateTopicsResponse:
		for _, t := range req.(*kmsg.CreateTopicsRequest).Topics {
			resp.Topics = append(resp.Topics, kmsg.CreateTopicsResponseTopic{Topic: t.Topic, ErrorCode: code, ErrorMessage: text})
		}
	case *kmsg.DeleteTopicsResponse:
		for _, t := range req.(*kmsg.DeleteTopicsRequest).Topics {
			resp.Topics = append(resp.Topics, kmsg.DeleteTopicsResponseTopic{Topic: t.Topic, TopicID: t.TopicID, ErrorCode: code,
				ErrorMessage: text})
		}
	case *kmsg.CreatePartitionsResponse:
		for _, t := range req.(*kmsg.CreatePartitionsRequest).Topics {
			resp.Topics = append(resp.Topics, kmsg.CreatePartitionsResponseTopic{Topic: t.Topic, ErrorCode: code, ErrorMessage: text})
		}
	case *kmsg.MetadataResponse:
		for _, t := range req.(*kmsg.MetadataRequest).Topics {
			resp.Topics = append(resp.Topics, kmsg.MetadataResponseTopic{Topic: t.Topic, TopicID: t.TopicID, ErrorCode: code})
		}
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	case *kmsg.DescribeQuorumResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	case *kmsg.ElectLeadersResponse:
		resp.ErrorCode = code
	case *kmsg.DescribeClusterResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	case *kmsg.UpdateFeaturesResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = code, text
	default:
		failConfigs(req, resp, code, text)
	}
}

func failConfigs(req kmsg.Request, resp kmsg.Response, code int16, text *string) {
	switch resp := resp.(type) {
	case *kmsg.DescribeConfigsResponse:
		for _, r := range req.(*kmsg.DescribeConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, kmsg.DescribeConfigsResponseResource{ResourceType: r.ResourceType, ResourceName: r.ResourceName,
				ErrorCode: code, ErrorMessage: text})
		}
	case *kmsg.IncrementalAlterConfigsResponse:
		for _, r := range req.(*kmsg.IncrementalAlterConfigsRequest).Resources {
			resp.Resources = append(resp.Resources, kmsg.IncrementalAlterConfigsResponseResource{ResourceType: r.ResourceType,
				ResourceName: r.ResourceName, ErrorCode: code, ErrorMessage: text})
		}
	}
}
