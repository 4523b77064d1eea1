# Completion of the command simba for bash. Installed as share/bash-completion/completions/simba.

# Names of the mutexes in the store of this command line, if it answers within a second.
_simba_mutexes() {
  local i
  local -a line store=()
  # Not COMP_WORDS, which cuts a URL at its colons.
  read -ra line <<<"${COMP_LINE:0:COMP_POINT}"
  for ((i = 1; i + 1 < ${#line[@]}; ++i)); do
    case ${line[i]} in
      -b | --backend | --config | --store) store+=("${line[i]}" "${line[i + 1]}") ;;
    esac
  done
  # Names with quotes or backslashes are left out.
  timeout 1 "${COMP_WORDS[0]}" status --json "${store[@]}" 2>/dev/null |
    sed -n 's/^{"mutex":"\([^"\\]*\)".*/\1/p'
}

_simba() {
  local commands='run schedule elect watch status is-leader runs serve release init doctor demo'
  local common='--backend --config --store --mutex --id --ttl --transition --share-passwords --json --verbose --help'
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command='' i
  COMPREPLY=()

  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} == -- ]]; then
      # After "--" comes a command of its own.
      if declare -F _command_offset >/dev/null; then
        _command_offset $((i + 1))
      elif ((COMP_CWORD == i + 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      fi
      return
    fi
    if [[ -z $command && " $commands " == *" ${COMP_WORDS[i]} "* ]]; then
      case ${COMP_WORDS[i - 1]} in
        -b | --backend | --config | --store | -m | --mutex | --id | --ttl | --transition) ;;
        *) command=${COMP_WORDS[i]} ;;
      esac
    fi
  done

  case $before in
    -b | --backend)
      compopt -o nospace 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -W 'sqlite: mysql:// mariadb:// postgresql:// postgres://
        redis:// rediss:// redis+sentinel:// rediss+sentinel:// redis+cluster:// rediss+cluster://
        redis+unix:// zookeeper://' -- "$word")
      return
      ;;
    --config | --token-file | --tls-cert | --tls-key)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
    --store)
      mapfile -t COMPREPLY < <(compgen -W 'jdbc sqlite mysql postgresql redis zookeeper' -- "$word")
      return
      ;;
    -m | --mutex)
      # Not compgen -W: it would expand what a name in the store may contain, such as "$(...)".
      local name quoted
      while IFS= read -r name; do
        printf -v quoted %q "$name"
        if [[ $name == "$word"* || $quoted == "$word"* ]]; then COMPREPLY+=("$quoted"); fi
      done < <(_simba_mutexes)
      return
      ;;
    --on-loss)
      mapfile -t COMPREPLY < <(compgen -W 'terminate continue' -- "$word")
      return
      ;;
    --missed)
      mapfile -t COMPREPLY < <(compgen -W 'skip latest all' -- "$word")
      return
      ;;
    --while-busy)
      mapfile -t COMPREPLY < <(compgen -W 'skip queue-one cancel-running' -- "$word")
      return
      ;;
    --if-running)
      mapfile -t COMPREPLY < <(compgen -W 'wait exit' -- "$word")
      return
      ;;
    --promise)
      mapfile -t COMPREPLY < <(compgen -W 'at-most-once at-least-once' -- "$word")
      return
      ;;
    --on-failure)
      mapfile -t COMPREPLY < <(compgen -W 'step-down keep' -- "$word")
      return
      ;;
    --on-acquired | --on-released)
      mapfile -t COMPREPLY < <(compgen -c -- "$word")
      return
      ;;
    --host | --interval | --id | --ttl | --transition | --timeout | --every | --initial-delay | --cron | --zone | --drain | --max-hold | \
      --hold-at-least | --listen | --drain-probes | --slot | --once-per | --max-attempts | --start-within | --jitter | --backfill | \
      --retry-pause | --history)
      return
      ;;
  esac

  local own='' probes='--listen --token-file --drain-probes'
  case $command in
    '') own="$commands --version" ;;
    run)
      own="--timeout --on-loss --max-hold --drain --hold-at-least --slot --once-per --zone
        --if-running --promise --max-attempts --keep-output $probes --"
      ;;
    schedule)
      own="pause resume trigger --every --initial-delay --cron --zone --dry-run --promise
        --max-attempts --retry-pause --missed --start-within --while-busy --jitter --backfill
        --history --keep-output --per-leader --rate --drain $probes --"
      ;;
    elect) own="--on-acquired --on-released --on-failure --drain --max-hold $probes" ;;
    serve)
      own='--listen --tls-cert --tls-key --token-file --host --allow-release --history --interval'
      ;;
    release) own='--force' ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$own $common" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$own" -- "$word")
  fi
}

complete -F _simba simba
