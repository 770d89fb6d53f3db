import type { MessageBus } from "@deltawire/tasks";

/** A message bus in this process. `getDelays`: when each copy of a message arrives, in milliseconds; none: it is lost. */
export function createLocalBus(getDelays: () => readonly number[] = () => [0]): MessageBus {
  const listeners = new Map<string, Set<(message: string) => void>>();
  return {
    isConnected: true,
    publish(channel, message) {
      for (const delayMs of getDelays())
        setTimeout(() => {
          for (const listener of listeners.get(channel) ?? []) listener(message);
        }, delayMs);
    },
    subscribe(channel, listener) {
      const channelListeners = listeners.get(channel) ?? new Set();
      listeners.set(channel, channelListeners.add(listener));
      return () => channelListeners.delete(listener);
    },
    close: async () => undefined,
  };
}
