import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface RecordingProxy {
  /** The address of what lies behind it, but for the port. */
  url: string;
  /** Every byte that went to it, connection after connection. */
  sent(): Buffer;
  close(): Promise<void>;
}

/** Passes bytes to the server at `target` and back, and keeps those that it was sent. */
export async function recordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port, pathname } = new URL(target);
  const connections: Buffer[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const pieces: Buffer[] = [];
    connections.push(pieces);
    client.on("data", (piece: Buffer) => pieces.push(piece));
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
