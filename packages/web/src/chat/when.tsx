import { useNow } from "../list/now.ts";
import { useFormat } from "../words/format.ts";

export function When({ iso }: { iso: string }) {
  const format = useFormat();
  const now = useNow();
  return (
    <time className="chat-when" dateTime={iso} title={format.exactly(iso)}>
      {format.when(iso, now)}
    </time>
  );
}
