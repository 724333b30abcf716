// Package telemetry is the one place that turns collections, suspensions, gaps
// and the state of the sources into OpenTelemetry instruments and events.
//
// Every instrument is made from a metric of the registry, semconv/registry, and every
// attribute of an event from a field of semconv. Tests hold all that goes out to the
// registry.
//
// Events are held for up to a second and go out in [Telemetry.Tick], which the
// owner calls: so that the longest gap of each second is known, and so that
// what is over the limit of events can be chosen rather than be whatever came
// last. The package has no goroutine of its own, and imports the OpenTelemetry
// API only.
package telemetry
