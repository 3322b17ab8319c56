{{- define "edgekeeper.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 40 characters, since names are derived from it. */}}
{{- define "edgekeeper.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "edgekeeper.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* The Service of the admission webhooks, their configuration, and with -cert the Secret of their certificate. */}}
{{- define "edgekeeper.webhooks" -}}
{{- include "edgekeeper.fullname" . }}-webhooks
{{- end -}}

{{/* Labels of all pods of the operator, the workers included. */}}
{{- define "edgekeeper.podSelector" -}}
app.kubernetes.io/name: {{ include "edgekeeper.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels of the pods of the Deployment that the chart installs. */}}
{{- define "edgekeeper.selector" -}}
{{ include "edgekeeper.podSelector" . }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "edgekeeper.labels" -}}
{{ include "edgekeeper.podSelector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "edgekeeper.image" -}}
{{- $path := .Values.image.repository -}}
{{- if .Values.image.registry -}}{{- $path = printf "%s/%s" .Values.image.registry $path -}}{{- end -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" $path .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" $path (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The namespaces to watch, as a JSON list; empty for all. */}}
{{- define "edgekeeper.watchNamespaces" -}}
{{- $given := .Values.operator.watchNamespaces -}}
{{- if kindIs "string" $given -}}{{- $given = splitList "," $given -}}{{- end -}}
{{- $names := list -}}
{{- range $given -}}{{- if trim . -}}{{- $names = append $names (trim .) -}}{{- end -}}{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* The roles of the processes, as a JSON list. */}}
{{- define "edgekeeper.roles" -}}
{{- if eq .Values.mode "split" -}}
{{- list "manager" "kube-worker" "cloudflare-worker" | toJson -}}
{{- else -}}
{{- list "all" | toJson -}}
{{- end -}}
{{- end -}}

{{/* Names of what belongs to a role: (list . "kube-worker"). The Deployment of the chart has the name without a suffix. */}}
{{- define "edgekeeper.roleName" -}}
{{- $root := index . 0 -}}{{- $role := index . 1 -}}
{{- $name := include "edgekeeper.fullname" $root -}}
{{- if has $role (list "all" "manager") -}}
{{- $name -}}
{{- else -}}
{{- printf "%s-%s" (trimSuffix "-operator" $name) $role -}}
{{- end -}}
{{- end -}}

{{- define "edgekeeper.serviceAccount" -}}
{{- $root := index . 0 -}}{{- $role := index . 1 -}}
{{- $accounts := $root.Values.serviceAccount -}}
{{- $given := $accounts.name -}}
{{- if eq $role "kube-worker" -}}{{- $given = $accounts.kubeWorker.name -}}{{- end -}}
{{- if eq $role "cloudflare-worker" -}}{{- $given = $accounts.cloudflareWorker.name -}}{{- end -}}
{{- $created := include "edgekeeper.roleName" . -}}
{{- if $accounts.create -}}{{- default $created $given -}}{{- else -}}{{- default "default" $given -}}{{- end -}}
{{- end -}}

{{- define "edgekeeper.port" -}}
{{- regexFind "[0-9]+$" . | int -}}
{{- end -}}
