//go:build grpc

package main

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc"
	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/bench/service/shop"
)

func init() { shapes["grpc"] = serveGRPC }

// grpcServer is a gRPC server as shop.Run knows one.
type grpcServer struct{ *grpc.Server }

func (s grpcServer) Shutdown(context.Context) error {
	s.GracefulStop()
	return nil
}

// jsonCodec has messages of JSON: the work of a request is that of the other shapes.
type jsonCodec struct{}

func (jsonCodec) Marshal(v any) ([]byte, error)   { return json.Marshal(v) }
func (jsonCodec) Unmarshal(b []byte, v any) error { return json.Unmarshal(b, v) }
func (jsonCodec) Name() string                    { return "json" }

// watchersGRPC watch the calls.
var watchersGRPC []stats.Handler

func serveGRPC(o *shop.Orders, _ around) shop.Server {
	options := []grpc.ServerOption{grpc.ForceServerCodec(jsonCodec{})}
	for _, w := range watchersGRPC {
		options = append(options, grpc.StatsHandler(w))
	}
	s := grpc.NewServer(options...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "shop.Orders", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Place",
			// As generated code would have it; no setting has an interceptor.
			Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				var order shop.Order
				if err := decode(&order); err != nil {
					return nil, err
				}
				o.Place(&order)
				return &order, nil
			},
		}},
	}, o)
	return grpcServer{s}
}
