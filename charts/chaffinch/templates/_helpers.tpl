{{- define "chaffinch.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "chaffinch.pullSecrets" -}}
{{- range $i, $secret := .Values.imagePullSecrets }}{{ if $i }},{{ end }}{{ $secret.name }}{{ end -}}
{{- end -}}

{{- define "chaffinch.labels" -}}
app.kubernetes.io/name: chaffinch
app.kubernetes.io/component: operator
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "chaffinch.selector" -}}
app.kubernetes.io/name: chaffinch
app.kubernetes.io/component: operator
{{- end -}}
