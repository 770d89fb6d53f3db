import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface RecordingProxy {
  /** The URL of the target, with the port of the proxy. */
  url: string;
  /** All bytes that were sent to it, one connection after the other. */
  sent(): Buffer;
  close(): Promise<void>;
}

/** Forwards bytes to the server at `target` and back, and records those that were sent. */
export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port, pathname } = new URL(target);
  const connections: Buffer[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    connections.push(chunks);
    client.on("data", (chunk: Buffer) => chunks.push(chunk));
    client.pipe(upstream).pipe(client);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    sent: () => Buffer.concat(connections.flat()),
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
