import { Component, type ReactNode } from "react";
import { Button } from "../ui/button.tsx";
import { EmptyState } from "../ui/indicators.tsx";
import { useMessages } from "../messages/use-messages.ts";
import { appMessages } from "./messages.ts";

/** Shows an error in place of its children if they fail to render. */
export class ErrorBoundary extends Component<
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
    return (
      <ErrorFallback failure={failure} onRetry={() => this.setState({ failure: undefined })} />
    );
  }
}

function ErrorFallback({ failure, onRetry }: { failure: Error; onRetry: () => void }) {
  const t = useMessages(appMessages);
  return (
    <EmptyState title={t.failedTitle} text={t.failedText}>
      <pre className="app-failure">{failure.message}</pre>
      <Button onClick={onRetry}>{t.tryAgain}</Button>
    </EmptyState>
  );
}
