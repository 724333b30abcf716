{{- define "otelgc.labels" -}}
{app.kubernetes.io/name: otelgc, app.kubernetes.io/instance: {{ .Release.Name | quote }}, app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}, app.kubernetes.io/managed-by: {{ .Release.Service }}}
{{- end }}

{{- /* Of an image and the chart: its name, by digest, else by tag, else by the version. */}}
{{- define "otelgc.image" -}}
{{- $tag := printf ":%s" (.image.tag | default .root.Chart.AppVersion) }}
{{- if .image.digest }}{{ $tag = printf "@%s" .image.digest }}{{ end -}}
image: {{ .image.repository }}{{ $tag }}
imagePullPolicy: {{ .image.pullPolicy }}
{{- end }}

{{- /* The chart's own variables, but for those that the user has otherwise, and the user's. */}}
{{- define "otelgc.env" -}}
{{- $theirs := list }}
{{- range .extra }}{{ $theirs = append $theirs .name }}{{ end }}
{{- range concat (fromYamlArray .own) .extra }}
{{- if or (has . $.extra) (not (has .name $theirs)) }}
- {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{- /* What all pods have. */}}
{{- define "otelgc.pod" -}}
automountServiceAccountToken: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .root.Values.priorityClass.name }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .of.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .of.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- end }}

{{- /* The files of a Collector, in the order in which it merges them. */}}
{{- define "otelgc.files" -}}
config.yaml: |
  {{- .root.Files.Get (printf "config/%s.yaml" .tier) | nindent 2 }}
{{- if .root.Values.tls.enabled }}
tls.yaml: |
  {{- .root.Files.Get (printf "config/%s-tls.yaml" .tier) | nindent 2 }}
{{- end }}
{{- with (index .root.Values .tier).config }}
yours.yaml: |
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Its annotations: with other files it starts anew. */}}
{{- define "otelgc.annotations" -}}
checksum/config: {{ include "otelgc.files" . | sha256sum }}
{{- with (index .root.Values .tier).podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "otelgc.args" -}}
[--config=/etc/otelgc/config.yaml
{{- if .root.Values.tls.enabled }}, --config=/etc/otelgc/tls.yaml{{ end }}
{{- if (index .root.Values .tier).config }}, --config=/etc/otelgc/yours.yaml{{ end }}]
{{- end }}

{{- /* Where the sidecar is, and whether it is root there: for the board, which services
believe of root only, and for every capability. */}}
{{- define "otelgc.sidecarNamespace" -}}
{{ .Values.sidecar.namespace | default (printf "%s-sidecar" .Release.Namespace) }}
{{- end }}

{{- define "otelgc.sidecarIsRoot" -}}
{{- with .Values.sidecar }}{{ if or .boardNamespaces .spin .dotnet .go }}true{{ end }}{{ end }}
{{- end }}
