package model

import v1 "github.com/kafka-operators/kafka-operators/api/kafka/v1"

// podTemplate returns the template of a pool's pods. A pool's template replaces the Kafka object's as a whole.
func (c *cluster) podTemplate(pool string) v1.PodTemplate {
	if t := c.poolTemplate(pool).Pod; t != nil {
		return *t
	}
	return value(c.template().Pod, v1.PodTemplate{})
}

// containerTemplate returns the template of a pool's Kafka containers.
func (c *cluster) containerTemplate(pool string) v1.ContainerTemplate {
	if t := c.poolTemplate(pool).KafkaContainer; t != nil {
		return *t
	}
	return value(c.template().KafkaContainer, v1.ContainerTemplate{})
}

// initTemplate returns the template of the containers that prepare a pool's pods.
func (c *cluster) initTemplate(pool string) v1.ContainerTemplate {
	if t := c.poolTemplate(pool).InitContainer; t != nil {
		return *t
	}
	return value(c.template().InitContainer, v1.ContainerTemplate{})
}

// nodeServiceTemplate returns the template of the Services of a pool's nodes.
func (c *cluster) nodeServiceTemplate(pool string) *v1.ResourceTemplate {
	if t := c.poolTemplate(pool).PerPodService; t != nil {
		return t
	}
	return c.template().PerPodService
}

// podSetTemplate returns the template of a pool's StrimziPodSet.
func (c *cluster) podSetTemplate(pool string) *v1.ResourceTemplate {
	if t := c.poolTemplate(pool).PodSet; t != nil {
		return t
	}
	return c.template().PodSet
}

func (c *cluster) poolTemplate(pool string) v1.KafkaNodePoolTemplate {
	if p := c.Pools[pool]; p != nil && p.Spec != nil {
		return value(p.Spec.Template, v1.KafkaNodePoolTemplate{})
	}
	return v1.KafkaNodePoolTemplate{}
}

func (c *cluster) template() v1.KafkaClusterTemplate {
	return value(c.spec().Template, v1.KafkaClusterTemplate{})
}
