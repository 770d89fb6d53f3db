import { Component, type ReactNode } from "react";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/signs.tsx";
import { useWords } from "../words/use-words.ts";
import { appWords } from "./words.ts";

/** A part that cannot be drawn takes no other part with it. */
export class FailureGuard extends Component<
  { children: ReactNode },
  { failure: Error | undefined }
> {
  override state: { failure: Error | undefined } = { failure: undefined };

  static getDerivedStateFromError(failure: Error): { failure: Error } {
    return { failure };
  }

  override render(): ReactNode {
    const { failure } = this.state;
    if (failure === undefined) return this.props.children;
    return <Failed failure={failure} onAgain={() => this.setState({ failure: undefined })} />;
  }
}

function Failed({ failure, onAgain }: { failure: Error; onAgain: () => void }) {
  const words = useWords(appWords);
  return (
    <Empty title={words.failedTitle} text={words.failedText}>
      <pre className="app-failure">{failure.message}</pre>
      <Button onClick={onAgain}>{words.tryAgain}</Button>
    </Empty>
  );
}
