# fish completion for berth. Generated from berth's command table: run make generate.

set -l verbs create start run kill delete state list plan spec features

complete -c berth -f
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l root -x -a '(__fish_complete_directories)' -d 'keep the state of all containers in DIR (which should be on a tmpfs)'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l log -r -F -d 'write errors also to FILE (or file:FILE, journald:NAME, syslog:NAME)'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l log-format -x -a 'text json' -d 'write the log as FORMAT: text or json'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l log-level -x -a 'error warning info debug' -d 'log what is at least as important as LEVEL: error, warning, info or debug'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l debug -d 'the same as --log-level debug'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l systemd-cgroup -d 'the same as --cgroup-manager systemd'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l cgroup-manager -x -a 'cgroupfs systemd disabled' -d 'make cgroups by MANAGER: cgroupfs, systemd or disabled (none at all)'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l rootless -x -a 'true false auto' -d 'tolerate cgroups that can\'t be written: VALUE is true, false or auto'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l help -s h -d 'show help'
complete -c berth -n "not __fish_seen_subcommand_from $verbs" -l version -s v -d 'print name, version, commit, and the versions of the specification, Go and libseccomp'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a create -d 'create a container'
complete -c berth -n "__fish_seen_subcommand_from create" -l bundle -s b -x -a '(__fish_complete_directories)' -d 'the bundle is DIR (default: the current directory)'
complete -c berth -n "__fish_seen_subcommand_from create" -l console-socket -r -F -d 'send the master of the container\'s terminal to the unix socket PATH'
complete -c berth -n "__fish_seen_subcommand_from create" -l pidfd-socket -r -F -d 'send a pidfd of the container\'s init to the unix socket PATH'
complete -c berth -n "__fish_seen_subcommand_from create" -l pid-file -r -F -d 'write the pid of the container\'s init to FILE'
complete -c berth -n "__fish_seen_subcommand_from create" -l no-pivot -d 'do not use pivot_root (for an initramfs root); less safe'
complete -c berth -n "__fish_seen_subcommand_from create" -l no-new-keyring -d 'keep the caller\'s session keyring'
complete -c berth -n "__fish_seen_subcommand_from create" -l preserve-fds -x -d 'pass N more descriptors, from 3 on, to the container'
complete -c berth -n "__fish_seen_subcommand_from create" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a start -d 'run the program of a created container'
complete -c berth -n "__fish_seen_subcommand_from start" -a '(berth list --quiet 2>/dev/null)' -d container
complete -c berth -n "__fish_seen_subcommand_from start" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a run -d 'create a container, start it and wait for its end'
complete -c berth -n "__fish_seen_subcommand_from run" -l bundle -s b -x -a '(__fish_complete_directories)' -d 'the bundle is DIR (default: the current directory)'
complete -c berth -n "__fish_seen_subcommand_from run" -l console-socket -r -F -d 'send the master of the container\'s terminal to the unix socket PATH'
complete -c berth -n "__fish_seen_subcommand_from run" -l pidfd-socket -r -F -d 'send a pidfd of the container\'s init to the unix socket PATH'
complete -c berth -n "__fish_seen_subcommand_from run" -l pid-file -r -F -d 'write the pid of the container\'s init to FILE'
complete -c berth -n "__fish_seen_subcommand_from run" -l no-pivot -d 'do not use pivot_root (for an initramfs root); less safe'
complete -c berth -n "__fish_seen_subcommand_from run" -l no-new-keyring -d 'keep the caller\'s session keyring'
complete -c berth -n "__fish_seen_subcommand_from run" -l preserve-fds -x -d 'pass N more descriptors, from 3 on, to the container'
complete -c berth -n "__fish_seen_subcommand_from run" -l detach -s d -d 'return as soon as the program runs'
complete -c berth -n "__fish_seen_subcommand_from run" -l keep -d 'do not delete the container when it has ended'
complete -c berth -n "__fish_seen_subcommand_from run" -l no-subreaper -d 'do not become the parent of what the container\'s init leaves behind'
complete -c berth -n "__fish_seen_subcommand_from run" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a kill -d 'send a signal to a container'
complete -c berth -n "__fish_seen_subcommand_from kill" -a '(berth list --quiet 2>/dev/null)' -d container
complete -c berth -n "__fish_seen_subcommand_from kill" -a 'HUP INT QUIT KILL USR1 USR2 TERM CONT STOP WINCH' -d signal
complete -c berth -n "__fish_seen_subcommand_from kill" -l all -s a -d 'send the signal to all processes of the container'
complete -c berth -n "__fish_seen_subcommand_from kill" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a delete -d 'remove what is left of a stopped container'
complete -c berth -n "__fish_seen_subcommand_from delete" -a '(berth list --quiet 2>/dev/null)' -d container
complete -c berth -n "__fish_seen_subcommand_from delete" -l force -s f -d 'kill the container first, whatever its status; one that is not there is no error'
complete -c berth -n "__fish_seen_subcommand_from delete" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a state -d 'print the state of a container'
complete -c berth -n "__fish_seen_subcommand_from state" -a '(berth list --quiet 2>/dev/null)' -d container
complete -c berth -n "__fish_seen_subcommand_from state" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a list -d 'list the containers'
complete -c berth -n "__fish_seen_subcommand_from list" -l format -s f -x -a 'table json' -d 'FORMAT is table or json'
complete -c berth -n "__fish_seen_subcommand_from list" -l quiet -s q -d 'print the ids only'
complete -c berth -n "__fish_seen_subcommand_from list" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a plan -d 'print what create would do'
complete -c berth -n "__fish_seen_subcommand_from plan" -l bundle -s b -x -a '(__fish_complete_directories)' -d 'the bundle is DIR (default: the current directory)'
complete -c berth -n "__fish_seen_subcommand_from plan" -l no-pivot -d 'as create\'s'
complete -c berth -n "__fish_seen_subcommand_from plan" -l no-new-keyring -d 'as create\'s'
complete -c berth -n "__fish_seen_subcommand_from plan" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a spec -d 'write a config.json to start from'
complete -c berth -n "__fish_seen_subcommand_from spec" -l bundle -s b -x -a '(__fish_complete_directories)' -d 'write to DIR instead of the current directory'
complete -c berth -n "__fish_seen_subcommand_from spec" -l rootless -d 'write one that an ordinary user can run'
complete -c berth -n "__fish_seen_subcommand_from spec" -l help -s h -d 'show help'

complete -c berth -n "not __fish_seen_subcommand_from $verbs" -a features -d 'print what berth can do, as JSON'
complete -c berth -n "__fish_seen_subcommand_from features" -l help -s h -d 'show help'
