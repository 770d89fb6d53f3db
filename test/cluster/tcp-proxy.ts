import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Transform } from "node:stream";

export interface TcpProxyOptions {
  /** Called for each connection, as a load balancer would choose a process. */
  getTargetPort: () => number;
  /** Delays everything by this time, in each direction, like a slow network. In milliseconds; default 0. */
  delayMs?: number;
}

export interface TcpProxy {
  port: number;
  /** Closes all connections. New ones are accepted, so that clients reconnect. */
  disconnect(): void;
  close(): Promise<void>;
}

export async function startTcpProxy({
  getTargetPort,
  delayMs = 0,
}: TcpProxyOptions): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const target = connect(getTargetPort(), "127.0.0.1");
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from);
      from.setNoDelay(true);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (delayMs > 0) from.pipe(createDelay(delayMs)).pipe(to);
      else from.pipe(to);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const disconnect = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    disconnect,
    async close() {
      const closePromise = once(server, "close");
      server.close();
      disconnect();
      await closePromise;
    },
  };
}

/** Timers with the same delay fire in order, so the bytes stay in order. */
function createDelay(delayMs: number): Transform {
  return new Transform({
    transform(bytes, _encoding, done) {
      setTimeout(() => this.push(bytes), delayMs);
      done();
    },
    flush(done) {
      setTimeout(done, delayMs);
    },
  });
}
