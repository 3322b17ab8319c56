"""The kinds at work. Each is desired + observe + decide + perform + report; none imports another."""
