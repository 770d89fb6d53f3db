import { UsageError, type ModelFlags } from "./parse-arguments.ts";

interface ExtractedFlags {
  readonly modelFlags: ModelFlags;
  /** The other arguments. */
  readonly rest: readonly string[];
}

/** Extracts `-m`, `--model` and `--small-model` from arguments, up to `--`. Throws a UsageError if a name is missing. */
export function extractModelFlags(args: readonly string[]): ExtractedFlags {
  const modelFlags: { model?: string; smallModel?: string } = {};
  const rest: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const argument = args[index] ?? "";
    if (argument === "--") {
      rest.push(...args.slice(index));
      break;
    }
    const match = /^(-m|--model|--small-model)(?:=(.*))?$/s.exec(argument);
    const [, flag, joinedName] = match ?? [];
    if (flag === undefined) {
      rest.push(argument);
      continue;
    }
    const name = joinedName ?? args[index + 1];
    if (name === undefined || name === "" || (joinedName === undefined && name.startsWith("-")))
      throw new UsageError(
        `${flag} needs the name of a model; the command \`models\` lists the names`,
      );
    modelFlags[flag === "--small-model" ? "smallModel" : "model"] = name;
    if (joinedName === undefined) index += 1;
  }
  return { modelFlags, rest };
}

/** Splits `[FLAG ...] [--] PROGRAM [ARGUMENT ...]`. */
export function splitProgram(args: readonly string[]): {
  readonly own: readonly string[];
  /** Undefined if there is none. */
  readonly program: string | undefined;
  readonly rest: readonly string[];
} {
  const takesValue = (argument = "") => /^(?:-m|--model|--small-model)$/.test(argument);
  const end = args.findIndex(
    (argument, index) =>
      argument === "--" || (!argument.startsWith("-") && !takesValue(args[index - 1])),
  );
  const own = end < 0 ? args : args.slice(0, end);
  const [program, ...rest] = end < 0 ? [] : args.slice(args[end] === "--" ? end + 1 : end);
  return { own, program, rest };
}
