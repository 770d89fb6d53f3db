import { loadConfig } from "../config/load.ts";
import { ConfigError } from "../config/problems.ts";
import { unreachable } from "../unreachable.ts";
import { version } from "../version.ts";
import { readArguments, UsageError, type Command } from "./arguments.ts";
import { helpText } from "./help.ts";
import { commandName, type Terminal } from "../terminal.ts";

/** Runs a command and returns its exit code: 0 done, 1 failed, 2 typed or configured wrongly. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const command = readArguments(argv);
    const code = await runCommand(command, terminal);
    const { failure } = terminal.stdout;
    // A gateway serves without its greeting.
    if (failure === undefined || command.name === "serve") return code;
    terminal.stderr.write(`standard output cannot be written: ${failure.message}\n`);
    return code === 0 ? 1 : code;
  } catch (error) {
    const wrong = error instanceof UsageError || error instanceof ConfigError;
    const { message } = error as Error;
    terminal.stderr.write(
      `${wrong || isExpected(error) ? message : String((error as Error).stack)}\n`,
    );
    return wrong ? 2 : 1;
  }
}

async function runCommand(command: Command, terminal: Terminal): Promise<number> {
  switch (command.name) {
    case "help":
      terminal.stdout.write(helpText(command.command, commandName(terminal.env)));
      return 0;
    case "version":
      terminal.stdout.write(`${version}\n`);
      return 0;
    case "migrate": {
      const { migrateCommand } = await import("./migrate.ts");
      return migrateCommand(command.args, terminal);
    }
    case "serve": {
      const { serve } = await import("./serve.ts");
      return serve(loadConfig(command.flags, terminal), command.flags, terminal);
    }
    case "codex": {
      const { codex } = await import("./codex.ts");
      return codex(loadConfig(command.flags, terminal), command, terminal);
    }
    case "models": {
      const { models } = await import("./models.ts");
      return models(loadConfig(command.flags, terminal), command.flags, terminal);
    }
    case "lessons": {
      const { lessons } = await import("./lessons.ts");
      return lessons(loadConfig(command.flags, terminal), command, terminal);
    }
    default:
      return unreachable(command);
  }
}

/** What a user can do something about needs no stack. */
function isExpected(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === "string";
}
