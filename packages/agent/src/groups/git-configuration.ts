import { execFile } from "node:child_process";

/**
 * Variables for `git` commands that only read. They turn off what a repository's configuration can run whatever the
 * command: a file system monitor and hooks. They also refuse a bare repository that git finds by itself, because anybody
 * who can write `HEAD`, `config`, `objects` and `refs` into a folder makes it one. Submodules inherit all of this.
 */
export const readOnlyGitEnvironment: Readonly<Record<string, string>> = {
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  ...configurationVariables({
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "safe.bareRepository": "explicit",
  }),
};

/**
 * Settings of a repository that make reading commands run a program (filters, diff drivers, signature checks, fetching of
 * missing objects), or read files of another folder. Names of drivers are free, so no variable can turn these off.
 */
const unsafeSetting =
  /^(?:core\.worktree|diff\.external|diff\..*\.(?:command|textconv)|filter\..*\.(?:clean|smudge|process)|gpg\..*|extensions\.partialclone|remote\..*\.promisor|submodule\..*)$/i;

const timeoutMs = 5_000;

/**
 * True if the configuration of the repository in `folder` has no unsafe setting; also where there is no repository. What
 * the user or the system has configured is trusted. False if git cannot read it.
 */
export function isSafeRepository(folder: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const options = {
    cwd: folder,
    env: { ...environment, ...readOnlyGitEnvironment },
    timeout: timeoutMs,
    encoding: "utf8",
  } as const;
  const list = ["config", "--list", "--includes", "--show-scope", "--name-only", "-z"];
  return new Promise((resolve) => {
    execFile("git", list, options, (error, output) => {
      resolve(
        error === null && !repositorySettings(output).some((name) => unsafeSetting.test(name)),
      );
    });
  });
}

/** `output`: scope and name of each setting in turn, each with a NUL after it. */
function repositorySettings(output: string): string[] {
  const fields = output.split("\0");
  return fields.filter((_, at) => at % 2 === 1 && !trustedScopes.has(fields[at - 1] ?? ""));
}

const trustedScopes = new Set(["system", "global", "command"]);

function configurationVariables(settings: Record<string, string>): Record<string, string> {
  const entries = Object.entries(settings);
  const variables = entries.flatMap(([name, value], at) => [
    [`GIT_CONFIG_KEY_${at}`, name],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(entries.length), ...Object.fromEntries(variables) };
}
