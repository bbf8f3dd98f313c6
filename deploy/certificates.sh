#!/usr/bin/env bash
# Makes the certificates of a pool, signed by an authority of its own. docs/security.md says who gets which.
#
# usage: deploy/certificates.sh DIR [HOST …]
#
# Writes DIR/ca with the authority, whose key should leave this machine, and for each of hub, worker, admin, submitter and
# reader a folder for --tls: ca.crt, tls.crt and tls.key. HOSTs are further names of the servers, for clients that check
# the host. Run it again to renew the certificates: the authority stays. Environment variables: DAYS, how long new ones are
# valid, by default 90; KEEP, the days for which a certificate must still be valid to be kept, by default none is kept.
set -euo pipefail

[ $# -ge 1 ] && [ "${1:0:1}" != - ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
directory="$1"
shift
days="${DAYS:-90}"
authority="$directory/ca"
[[ "$days" =~ ^-?[0-9]+$ && "$days" != 0 ]] || { echo "DAYS: got $days; wanted a number of days" >&2; exit 2; }
for host in "$@"; do
  [[ "$host" =~ ^[A-Za-z0-9*]([A-Za-z0-9.-]*[A-Za-z0-9])?$ && "$host" != *.waggle ]] ||
    { echo "HOST: got $host; wanted a machine's name, which does not end in .waggle, as roles do" >&2; exit 2; }
done
umask 077

key() {  # FILE
  openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1" 2>/dev/null ||
    openssl ecparam -name prime256v1 -genkey -noout -out "$1"
}

mkdir -p "$authority"
if [ ! -e "$authority/ca.crt" ]; then
  key "$authority/ca.key"
  openssl req -x509 -new -sha256 -days 3650 -key "$authority/ca.key" -out "$authority/ca.crt" \
    -subj "/CN=waggle authority" -addext "basicConstraints=critical,CA:TRUE" -addext "keyUsage=critical,keyCertSign,cRLSign"
fi

# Whole files take the old ones' places, because processes read them while they run.
certificate() {  # FOLDER NAME …
  local folder="$directory/$1" new names="" name
  if [ -n "${KEEP:-}" ] && cmp -s "$authority/ca.crt" "$folder/ca.crt" &&
    openssl x509 -noout -checkend $((KEEP * 86400)) -in "$folder/tls.crt" >/dev/null 2>&1; then
    return
  fi
  mkdir -p "$folder"
  new="$(mktemp -d "$folder/.new.XXXXXX")"  # On the folder's own file system.
  shift
  for name in "$@"; do
    names="$names${names:+,}DNS:$name"
  done
  key "$new/tls.key"
  openssl req -new -sha256 -key "$new/tls.key" -subj "/CN=$1" -out "$new/request"
  openssl x509 -req -sha256 -days "$days" -in "$new/request" -CA "$authority/ca.crt" -CAkey "$authority/ca.key" \
    -set_serial "0x$(openssl rand -hex 16)" -out "$new/tls.crt" -extfile <(
      printf 'subjectAltName=%s\nbasicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth,clientAuth\n' "$names"
    ) 2>/dev/null
  rm "$new/request"
  cp "$authority/ca.crt" "$new/ca.crt"
  for file in tls.key tls.crt ca.crt; do
    mv "$new/$file" "$folder/$file"
  done
  rmdir "$new"
}

certificate hub server.waggle reader.waggle "$@"
certificate worker worker.waggle server.waggle "$@"
certificate admin admin.waggle
certificate submitter submitter.waggle
certificate reader reader.waggle
echo "$directory: certificates of hub, worker, admin, submitter and reader, of the authority in $authority"
