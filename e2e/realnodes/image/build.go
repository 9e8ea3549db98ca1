package image

import (
	"context"
	"path/filepath"

	"github.com/kafka-operators/kafka-operators/kafka/kafkatest/realkafka/assets"
)

// ProgramPath is the path of the program in the image of an operator, as in the Dockerfile.
const ProgramPath = "/operator"

// BuildOperator compiles a Go package as assets.Build does, and writes an image with the program and files to name.tar in dir, like the
// image that the Dockerfile builds. It returns the archive. reference is the image's name in Kubernetes.
func BuildOperator(ctx context.Context, dir, name, reference, folder, pkg string, files ...File) (archive string, err error) {
	program, archive := filepath.Join(dir, name), filepath.Join(dir, name+".tar")
	if err := assets.Build(ctx, program, folder, pkg); err != nil {
		return "", err
	}
	i := Image{
		Name: reference, Files: append([]File{{Path: ProgramPath, Source: program}}, files...),
		Config: Config{Entrypoint: []string{ProgramPath}, User: "65532:65532"},
	}
	return archive, i.Write(archive)
}
