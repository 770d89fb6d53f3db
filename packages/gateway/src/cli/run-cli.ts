import { assertNever } from "@deltawire/tasks";
import { loadConfig } from "../config/load-config.ts";
import { ConfigError } from "../config/config-problems.ts";
import { version } from "../version.ts";
import { parseCommandLine, UsageError, type CliCommand } from "./parse-arguments.ts";
import { formatHelp } from "./help.ts";
import { getCommandName, type Terminal } from "../terminal.ts";

/** Runs a command and returns its exit code: 0 success, 1 failure, 2 invalid command line or configuration. */
export async function runCli(argv: readonly string[], terminal: Terminal): Promise<number> {
  try {
    const command = parseCommandLine(argv);
    const code = await runCommand(command, terminal);
    const { failure } = terminal.stdout;
    // `serve` does not fail: the gateway ran, only its banner could not be written.
    if (failure === undefined || command.name === "serve") return code;
    terminal.stderr.write(`could not write to standard output: ${failure.message}\n`);
    return code === 0 ? 1 : code;
  } catch (error) {
    const isUserError = error instanceof UsageError || error instanceof ConfigError;
    const { message } = error as Error;
    terminal.stderr.write(
      `${isUserError || isSystemError(error) ? message : String((error as Error).stack)}\n`,
    );
    return isUserError ? 2 : 1;
  }
}

async function runCommand(command: CliCommand, terminal: Terminal): Promise<number> {
  switch (command.name) {
    case "help":
      terminal.stdout.write(formatHelp(command.command, getCommandName(terminal.env)));
      return 0;
    case "version":
      terminal.stdout.write(`${version}\n`);
      return 0;
    case "migrate": {
      const { runMigrateCommand } = await import("./migrate-command.ts");
      return runMigrateCommand(command.args, terminal);
    }
    case "keys": {
      const { runKeysCommand } = await import("./keys-command.ts");
      return runKeysCommand(command.args, terminal);
    }
    case "store": {
      const { runStoreCommand } = await import("./store-command.ts");
      return runStoreCommand(command.args, terminal);
    }
    case "serve": {
      const { runServeCommand } = await import("./serve-command.ts");
      return runServeCommand(loadConfig(command.flags, terminal), command.flags, terminal);
    }
    case "codex": {
      const { runCodexCommand } = await import("./codex-command.ts");
      return runCodexCommand(loadConfig(command.flags, terminal), command, terminal);
    }
    case "claude": {
      const { runClaudeCommand } = await import("./run-agent-command.ts");
      return runClaudeCommand(loadConfig(command.flags, terminal), command, terminal);
    }
    case "run": {
      const { runRunCommand } = await import("./run-agent-command.ts");
      return runRunCommand(loadConfig(command.flags, terminal), command, terminal);
    }
    case "connect": {
      const { runConnectCommand } = await import("./connect-command.ts");
      return runConnectCommand(loadConfig(command.flags, terminal), command, terminal);
    }
    case "models": {
      const { runModelsCommand } = await import("./models-command.ts");
      return runModelsCommand(loadConfig(command.flags, terminal), command.flags, terminal);
    }
    case "lessons": {
      const { runLessonsCommand } = await import("./lessons-command.ts");
      return runLessonsCommand(loadConfig(command.flags, terminal), command, terminal);
    }
    default:
      return assertNever(command);
  }
}

/** System errors, such as a port in use, are shown without a stack trace. */
function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === "string";
}
