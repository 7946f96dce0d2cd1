# bash completion for berth. Generated from berth's command table: run make generate.

_berth()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local verb= root= args=0 i flags words=
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--bundle|--cgroup-manager|--console-socket|--format|--log|--log-format|--log-level|--pid-file|--pidfd-socket|--preserve-fds|--root|--rootless|-b|-f)
			[[ ${COMP_WORDS[i]} == --root ]] && root=${COMP_WORDS[i+1]}
			((i++))
			;;
		-*) ;;
		*) if [[ -z $verb ]]; then verb=${COMP_WORDS[i]}; else ((args++)); fi ;;
		esac
	done
	case $prev in
	--bundle|--root|-b) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	--console-socket|--log|--pid-file|--pidfd-socket) COMPREPLY=($(compgen -f -- "$cur")); return ;;
	--preserve-fds) return ;;
	--cgroup-manager) COMPREPLY=($(compgen -W 'cgroupfs systemd disabled' -- "$cur")); return ;;
	--format) COMPREPLY=($(compgen -W 'table json' -- "$cur")); return ;;
	--log-format) COMPREPLY=($(compgen -W 'text json' -- "$cur")); return ;;
	--log-level) COMPREPLY=($(compgen -W 'error warning info debug' -- "$cur")); return ;;
	esac
	case $verb in
	'')
		flags='--root --log --log-format --log-level --debug --systemd-cgroup --cgroup-manager --rootless --help -h --version -v'
		words='create start run kill delete state list plan spec features'
		;;
	create)
		flags='--bundle -b --console-socket --pidfd-socket --pid-file --no-pivot --no-new-keyring --preserve-fds --help -h'
		;;
	start)
		flags='--help -h'
		((args == 0)) && words=$(berth ${root:+--root "$root"} list --quiet 2>/dev/null)
		;;
	run)
		flags='--bundle -b --console-socket --pidfd-socket --pid-file --no-pivot --no-new-keyring --preserve-fds --detach -d --keep --no-subreaper --help -h'
		;;
	kill)
		flags='--all -a --help -h'
		((args == 0)) && words=$(berth ${root:+--root "$root"} list --quiet 2>/dev/null)
		((args == 1)) && words='HUP INT QUIT KILL USR1 USR2 TERM CONT STOP WINCH'
		;;
	delete)
		flags='--force -f --help -h'
		((args == 0)) && words=$(berth ${root:+--root "$root"} list --quiet 2>/dev/null)
		;;
	state)
		flags='--help -h'
		((args == 0)) && words=$(berth ${root:+--root "$root"} list --quiet 2>/dev/null)
		;;
	list)
		flags='--format -f --quiet -q --help -h'
		;;
	plan)
		flags='--bundle -b --no-pivot --no-new-keyring --help -h'
		;;
	spec)
		flags='--bundle -b --rootless --help -h'
		;;
	features)
		flags='--help -h'
		;;
	*) return ;;
	esac
	[[ $cur == -* ]] && words=$flags
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -F _berth berth
