import type { LoadedConfig } from "../config/load-config.ts";
import type { CliFlags } from "./parse-arguments.ts";
import { findRunningGateway } from "./running-gateway.ts";
import type { Terminal } from "../terminal.ts";

interface ListedLesson {
  upstream: string;
  model: string;
  code: string;
  description: string;
  provider_message: string;
}

/** Shows or deletes the lessons of the running gateway. */
export async function runLessonsCommand(
  { config }: LoadedConfig,
  { flags, reset }: { flags: CliFlags; reset: boolean },
  terminal: Terminal,
): Promise<number> {
  const { stdout, stderr } = terminal;
  const running = await findRunningGateway(config, flags.data, terminal);
  if (running === undefined) {
    const { host, port } = config.server;
    stderr.write(
      `no gateway is running on ${host}:${port}; start one to list or delete its lessons\n`,
    );
    return 1;
  }
  const body = (await running.request("/deltawire/lessons", {
    method: reset ? "DELETE" : "GET",
  })) as {
    lessons: ListedLesson[];
  };
  if (flags.json) stdout.write(`${JSON.stringify(body)}\n`);
  else if (body.lessons.length === 0)
    stdout.write(reset ? "Lessons deleted.\n" : "No lessons so far.\n");
  else
    for (const lesson of body.lessons)
      stdout.write(
        `${lesson.upstream}/${lesson.model}  ${lesson.description}\n    upstream's error: ${lesson.provider_message}\n`,
      );
  return 0;
}
