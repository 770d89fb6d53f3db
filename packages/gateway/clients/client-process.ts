import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

export interface ClientProcessOptions {
  /** Name in error messages. */
  name: string;
  program: string;
  commandArguments: readonly string[];
  /** Added to a minimal environment, which has nothing of this process but `PATH`. */
  env?: Readonly<Record<string, string>>;
  home: string;
  cwd: string;
  /** Default: one minute. */
  timeoutMs?: number;
}

export interface ClientProcessResult {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  /** Hosts beyond loopback that it tried to reach. */
  outside: string[];
}

export interface ClientProcess {
  /** Sends SIGINT to the program and the processes that it started, as Ctrl+C in a terminal does. */
  interrupt(): void;
  /** Rejects if the time limit is reached. */
  ended: Promise<ClientProcessResult>;
}

export async function runClientProcess(
  options: ClientProcessOptions,
): Promise<ClientProcessResult> {
  return (await startClientProcess(options)).ended;
}

/** Starts a program that can only reach loopback: a proxy rejects and records all other connections. */
export async function startClientProcess({
  name,
  program,
  commandArguments,
  env = {},
  home,
  cwd,
  timeoutMs = 60_000,
}: ClientProcessOptions): Promise<ClientProcess> {
  const proxy = await startBlockingProxy();
  const child = spawn(program, commandArguments, {
    cwd,
    env: { ...buildEnvironment(home, proxy.url), ...env },
    // With a terminal it would wait for more standard input.
    stdio: ["ignore", "pipe", "pipe"],
    // In a separate process group, so that its binary and their commands end with it.
    detached: process.platform !== "win32",
  });
  const signal = (signalName: NodeJS.Signals): void => {
    if (child.pid !== undefined) signalGroup(child.pid, signalName);
  };
  const end = (): void => signal("SIGKILL");
  process.once("exit", end);
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    end();
  }, timeoutMs);
  let stdout = "";
  let stderr = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const waitForEnd = async (): Promise<ClientProcessResult> => {
    try {
      const [exitCode] = (await once(child, "close")) as [number | null];
      if (timedOut)
        throw new Error(`${name} was not done in ${timeoutMs} ms:\n${stdout}\n${stderr}`);
      return { stdout, stderr, exitCode, outside: proxy.hosts };
    } finally {
      clearTimeout(limit);
      process.off("exit", end);
      end();
      proxy.close();
    }
  };
  return { interrupt: () => signal("SIGINT"), ended: waitForEnd() };
}

function signalGroup(pid: number, signalName: NodeJS.Signals): void {
  try {
    process.kill(process.platform === "win32" ? pid : -pid, signalName);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Nothing of the machine's own environment, which might contain a key. */
function buildEnvironment(home: string, proxy: string): NodeJS.ProcessEnv {
  return {
    PATH: process.env["PATH"],
    HOME: home,
    LANG: "C.UTF-8",
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    ALL_PROXY: proxy,
    NO_PROXY: "127.0.0.1",
  };
}

/** Starts a proxy that rejects all connections and records their hosts. */
async function startBlockingProxy() {
  const hosts: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", (data) => {
      hosts.push(data.toString("latin1").split("\r\n", 1)[0] ?? "");
      socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, hosts, close: () => server.close() };
}
